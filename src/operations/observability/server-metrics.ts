/** Metrics of the database and Redis servers that several instances share. */
import type { StoreFacts } from '../../storage/admin.ts';
import { counter, gauge, labelled, type Metric, summary } from './metric.ts';

/** The sum of a store fact over all processes. */
export type Total = (name: string) => number | undefined;

export function ofServers(total: Total): Metric[] {
  const busy = total('poolBusy');
  const idle = busy === undefined ? undefined : (total('poolConnections') ?? 0) - busy;
  return [
    gauge(
      'postgres_connections',
      'Connections to PostgreSQL.',
      labelled({ state: 'busy' }, busy),
      labelled({ state: 'idle' }, idle),
    ),
    gauge('postgres_waiting', 'Requests waiting for a connection to PostgreSQL.', total('poolWaiting')),
    summary(
      'postgres_statement_seconds',
      'Duration of PostgreSQL statements, including the network.',
      total('postgresSeconds'),
      total('postgresStatements'),
    ),
    summary(
      'redis_request_seconds',
      'Duration of Redis requests, including the network.',
      total('redisSeconds'),
      total('redisRequests'),
    ),
  ];
}

export function ofReplicas(facts: StoreFacts, total: Total): Metric[] {
  const replicas = Object.keys(facts).filter((name) => /^replica\d+$/.test(name));
  const ofEach = (value: (name: string) => StoreFacts[string] | undefined) =>
    replicas.map((name) => labelled({ server: String(facts[name]) }, value(name)));
  return [
    counter(
      'replicable_reads_total',
      'Client reads eligible for replicas, by server; absent without DATABASE_REPLICA_URLS.',
      labelled({ server: 'primary' }, total('primaryReads')),
      ...ofEach((name) => total(`${name}Reads`)),
    ),
    gauge(
      'replica_in_use',
      '1 if a replica is current and serves reads, otherwise 0.',
      ...ofEach((name) => Number(facts[`${name}InUse`])),
    ),
    gauge(
      'replica_lag_seconds',
      'Maximum lag of a replica behind the primary.',
      ...ofEach((name) => facts[`${name}LagSeconds`]),
    ),
  ];
}
