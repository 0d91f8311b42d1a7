import { allOperations } from '../../contract/operations.ts';
import { partFailures } from '../../domain/troubles.ts';
import type { StoreFacts } from '../../storage/admin.ts';
import type { BackupMetrics } from '../admin/backups.ts';
import {
  counter,
  gauge,
  type Labels,
  labeledSample,
  type Metric,
  type MetricValue,
  metric,
  type Sample,
  summary,
} from './metric.ts';
import {
  latencyBounds,
  type OutputHealth,
  sumTraffic,
  type Traffic,
  type TrafficLatency,
} from './traffic.ts';

interface MetricsInput {
  readonly processes: readonly Traffic[];
  readonly facts: StoreFacts;
  readonly troubles: readonly string[];
  /** Number of banned keys; undefined if bans cannot be read. */
  readonly bans: number | undefined;
  /** Undefined if the service does not create backups. */
  readonly backups: BackupMetrics | undefined;
  /** Undefined if the store cannot be read. */
  readonly events: EventMetrics | undefined;
  readonly deliveries: DeliveryMetrics | undefined;
  readonly about: Labels;
  /** State of the output of a process that is not one of `processes`. */
  readonly output?: OutputHealth | undefined;
  /** Unix ms. */
  readonly startedAt: number;
}

export interface DeliveryMetrics {
  readonly pending: number;
  readonly oldestPendingAgeMs: number;
}

export interface EventMetrics {
  /** The highest id assigned so far. */
  readonly last: number;
  /** Age of the oldest retained event, in ms; undefined if there are no events. */
  readonly oldestAgeMs: number | undefined;
  /** How long events are retained, in ms; undefined if none are recorded. */
  readonly keepMs: number | undefined;
}

/** Outcomes that are exported for every operation from the start, because alerts must see an increase from 0. */
const alwaysPresent = ['ok', 'internal_error', 'service_unavailable'];

export function collectMetrics(measured: MetricsInput): Metric[] {
  const { backups } = measured;
  return [
    ...processMetrics(measured),
    ...requestMetrics(measured),
    ...storeMetrics(measured),
    ...eventMetrics(measured),
    ...deliveryMetrics(measured),
    ...(backups === undefined ? [] : backupMetrics(backups)),
  ].filter(({ samples }) => samples.length > 0);
}

function processMetrics({ processes, about, startedAt, output: own }: MetricsInput): Metric[] {
  const { memoryBytes, eventLoop, output } = sumTraffic(processes);
  return [
    gauge('info', 'Version, runtime and name of the instance.', labeledSample(about, 1)),
    gauge('start_time_seconds', 'Start time of the instance, in Unix seconds.', startedAt / 1_000),
    gauge('workers', 'Processes that serve requests.', processes.length),
    counter(
      'log_lines_lost_total',
      'Lines of the log that were dropped because they could not be written.',
      output.linesLost + (own?.linesLost ?? 0),
    ),
    gauge('memory_bytes', 'Memory of the processes that serve requests.', memoryBytes),
    gauge(
      'event_loop_delay_max_seconds',
      'Maximum event-loop delay of a process in the last minute.',
      eventLoop.maxSeconds,
    ),
    summary('event_loop_delay_seconds', 'Sampled event-loop delays.', eventLoop.sumSeconds, eventLoop.looks),
  ];
}

function requestMetrics({ processes, bans }: MetricsInput): Metric[] {
  const { counts, latencies, inFlight, openStreams, pageCache } = sumTraffic(processes);
  const series = new Map<string, MetricValue>();
  const setSeries = (operation: string, code: string, value: number) =>
    series.set(`${operation} ${code}`, labeledSample({ operation, code }, value));
  for (const { operationId } of allOperations)
    for (const code of alwaysPresent) setSeries(operationId, code, 0);
  for (const { operation, code, requests } of counts) setSeries(operation, code, requests);
  return [
    counter(
      'requests_total',
      'Requests under /v1 by operation and outcome: ok, or the error code.',
      ...series.values(),
    ),
    metric(
      'histogram',
      'request_duration_seconds',
      'Duration of requests under /v1, from request head to response.',
      latencies.flatMap(toHistogram),
    ),
    gauge('requests_in_flight', 'Requests in flight.', inFlight),
    gauge('event_streams', 'Open client event streams.', openStreams),
    counter(
      'page_cache_requests_total',
      'Requests for lists, served from the cache (hit) or rendered (miss).',
      labeledSample({ result: 'hit' }, pageCache.hits),
      labeledSample({ result: 'miss' }, pageCache.misses),
    ),
    gauge('banned_keys', 'Banned keys.', bans),
  ];
}

function toHistogram({ operation, buckets, sumSeconds }: TrafficLatency): Sample[] {
  let count = 0;
  const cumulative = buckets.map((inBucket, index) => {
    count += inBucket;
    const le = latencyBounds[index] === undefined ? '+Inf' : String(latencyBounds[index]);
    return { suffix: '_bucket', labels: { operation, le }, value: count };
  });
  return [
    ...cumulative,
    { suffix: '_sum', labels: { operation }, value: sumSeconds },
    { suffix: '_count', labels: { operation }, value: count },
  ];
}

function storeMetrics({ processes, facts, troubles: found }: MetricsInput): Metric[] {
  // With PostgreSQL, each worker commits separately. With an embedded store, one process commits for all, and every
  // process reports the same figures.
  const isShared = processes.length > 1 && facts.engine !== 'SQLite';
  const committing = isShared ? [facts, ...processes.map(({ store }) => store)] : [facts];
  const total = (name: string) => sumFact(committing, name);
  return [
    ...commitMetrics(total),
    ...serverMetrics(total),
    ...replicaMetrics(isShared ? processes.map(({ store }) => store) : [facts], total),
    gauge(
      'store_bytes',
      'Size of the store: its files, or its tables on PostgreSQL.',
      labeledSample({ part: 'data' }, facts.dataBytes),
      labeledSample({ part: 'wal' }, facts.walBytes),
      labeledSample({ part: 'limits' }, facts.limitBytes),
    ),
    gauge('disk_free_bytes', 'Free space on the disk of an embedded store.', facts.freeBytes),
    gauge(
      'trouble',
      '1 while a part of the store or a background task has failed, otherwise 0.',
      ...partFailures(found).map(([part, hasFailed]) => labeledSample({ part }, hasFailed ? 1 : 0)),
    ),
  ];
}

function commitMetrics(total: Total): Metric[] {
  return [
    counter('writes_total', 'Changes committed, individually or in groups.', total('units')),
    summary(
      'commit_seconds',
      'Duration of commits. A commit contains one or more changes.',
      total('seconds'),
      total('groups'),
    ),
    gauge('writes_waiting', 'Changes waiting for their group to be committed.', total('waiting')),
  ];
}

function deliveryMetrics({ processes, deliveries }: MetricsInput): Metric[] {
  const counts = Object.entries(sumTraffic(processes).deliveries);
  return [
    counter(
      'deliveries_total',
      'Webhook delivery attempts by outcome: succeeded, repeated (failed, with a retry), failed, expired.',
      ...counts.map(([outcome, attempts]) => labeledSample({ outcome }, attempts)),
    ),
    gauge('deliveries_pending', 'Pending deliveries, at most 10,000.', deliveries?.pending),
    gauge(
      'delivery_oldest_pending_age_seconds',
      'Age of the oldest pending delivery to an enabled webhook; 0 if there are none.',
      deliveries && deliveries.oldestPendingAgeMs / 1_000,
    ),
  ];
}

function eventMetrics({ processes, events }: MetricsInput): Metric[] {
  const { last, oldestAgeMs, keepMs } = events ?? {};
  const seconds = (ms: number | undefined) => (ms === undefined ? undefined : ms / 1_000);
  return [
    counter(
      'events_total',
      'Highest event id. Jumps by at least a billion after a restore or a failover.',
      last,
    ),
    gauge('event_oldest_age_seconds', 'Age of the oldest retained event.', seconds(oldestAgeMs)),
    gauge(
      'event_retention_seconds',
      'Retention of events (EVENTS_KEEP_DAYS); absent with EVENTS=off.',
      seconds(keepMs),
    ),
    gauge(
      'event_listeners',
      'Requests and open streams that are waiting for new events.',
      sumTraffic(processes).eventListeners,
    ),
  ];
}

function backupMetrics({ everyMs, latest, seconds, made, failed }: BackupMetrics): Metric[] {
  return [
    counter(
      'backups_total',
      'Backups that the service attempted, by result: made or failed.',
      labeledSample({ result: 'made' }, made),
      labeledSample({ result: 'failed' }, failed),
    ),
    gauge(
      'backup_last_success_time_seconds',
      'Start time of the latest backup, in Unix seconds; 0 if there is none.',
      (latest?.createdAt ?? 0) / 1_000,
    ),
    gauge('backup_last_bytes', 'Size of the latest backup.', latest?.bytes),
    gauge('backup_last_duration_seconds', 'Duration of the latest backup by the service.', seconds),
    gauge(
      'backup_interval_seconds',
      'Interval between backups (BACKUP_EVERY).',
      everyMs === undefined ? undefined : everyMs / 1_000,
    ),
  ];
}

function maxFact(facts: readonly StoreFacts[], name: string): number | undefined {
  const values = facts.flatMap((each) => each[name] ?? []).map(Number);
  return values.length === 0 ? undefined : Math.max(...values);
}

function sumFact(facts: readonly StoreFacts[], name: string): number | undefined {
  const values = facts.map((one) => one[name]).filter((value) => typeof value === 'number');
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
}

/** The sum of a store fact over all processes. */
type Total = (name: string) => number | undefined;

function serverMetrics(total: Total): Metric[] {
  const busy = total('poolBusy');
  const idle = busy === undefined ? undefined : (total('poolConnections') ?? 0) - busy;
  return [
    gauge(
      'postgres_connections',
      'Connections to PostgreSQL.',
      labeledSample({ state: 'busy' }, busy),
      labeledSample({ state: 'idle' }, idle),
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

/** `reading` contains the facts of each process that reads from replicas. */
function replicaMetrics(reading: readonly StoreFacts[], total: Total): Metric[] {
  const [first = {}] = reading;
  const replicas = Object.keys(first).filter((name) => /^replica\d+$/.test(name));
  const ofEach = (value: (name: string) => StoreFacts[string] | undefined) =>
    replicas.map((name) => labeledSample({ server: String(first[name]) }, value(name)));
  return [
    counter(
      'replicable_reads_total',
      'Client reads eligible for replicas, by server; absent without DATABASE_REPLICA_URLS.',
      labeledSample({ server: 'primary' }, total('primaryReads')),
      ...ofEach((name) => total(`${name}Reads`)),
    ),
    gauge(
      'replica_in_use',
      '1 if a replica is current and serves reads, otherwise 0.',
      ...ofEach((name) => Number(reading.every((facts) => facts[`${name}InUse`]))),
    ),
    gauge(
      'replica_lag_seconds',
      'Maximum lag of a replica behind the primary.',
      ...ofEach((name) => maxFact(reading, `${name}LagSeconds`)),
    ),
  ];
}
