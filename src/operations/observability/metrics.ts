import { allOperations } from '../../contract/operations.ts';
import { type Trouble, troubles } from '../../domain/trouble.ts';
import type { StoreFacts } from '../../storage/admin.ts';
import type { BackupFigures } from '../admin/backups.ts';
import { latencyBounds, sumOf, type Traffic, type TrafficLatency } from './traffic.ts';

type MetricType = 'counter' | 'gauge' | 'histogram' | 'summary';

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  readonly suffix?: string;
  readonly labels?: Labels;
  readonly value: number;
}

export interface Metric {
  readonly name: string;
  readonly type: MetricType;
  readonly help: string;
  readonly samples: readonly Sample[];
}

export interface Measured {
  readonly processes: readonly Traffic[];
  readonly facts: StoreFacts;
  readonly troubles: readonly string[];
  /** Keys that are banned now; undefined while the store cannot setSeries. */
  readonly bans: number | undefined;
  /** Undefined where the service makes none. */
  readonly backups: BackupFigures | undefined;
  /** Undefined while the store cannot answer. */
  readonly events: EventFigures | undefined;
  readonly deliveries: DeliveryFigures | undefined;
  readonly about: Labels;
  /** Unix ms. */
  readonly startedAt: number;
}

export interface DeliveryFigures {
  readonly pending: number;
  readonly oldestPendingAgeMs: number;
}

export interface EventFigures {
  /** The highest id that was assigned. */
  readonly last: number;
  /** Of the oldest retained event, in ms; undefined without events. */
  readonly oldestAgeMs: number | undefined;
  /** How long events are retained, in ms; undefined where none are recorded. */
  readonly keepMs: number | undefined;
}

const prefix = 'animal_store_';

/** Series that exist for every operation from the start: an alert needs to see them rise from 0. */
const alwaysPresent = ['ok', 'internal_error', 'service_unavailable'];

export function metricsOf(measured: Measured): Metric[] {
  const { backups } = measured;
  return [
    ...ofProcesses(measured),
    ...ofRequests(measured),
    ...ofStore(measured),
    ...ofEvents(measured),
    ...ofDeliveries(measured),
    ...(backups === undefined ? [] : ofBackups(backups)),
  ].filter(({ samples }) => samples.length > 0);
}

function ofProcesses({ processes, about, startedAt }: Measured): Metric[] {
  const { memoryBytes, eventLoop } = sumOf(processes);
  return [
    gauge('info', 'What runs: version, runtime, and the name of the instance.', labelled(about, 1)),
    gauge('start_time_seconds', 'When the instance started, in Unix seconds.', startedAt / 1_000),
    gauge('workers', 'Processes that serve requests.', processes.length),
    gauge('memory_bytes', 'Memory of the processes that serve requests.', memoryBytes),
    gauge(
      'event_loop_delay_max_seconds',
      'How late the event loop of a process was at most in the last minute.',
      eventLoop.maxSeconds,
    ),
    summary(
      'event_loop_delay_seconds',
      'How late event loops were whenever that was looked at.',
      eventLoop.sumSeconds,
      eventLoop.looks,
    ),
  ];
}

function ofRequests({ processes, bans }: Measured): Metric[] {
  const { counts, latencies, inFlight, openStreams, pageCache } = sumOf(processes);
  const series = new Map<string, Value>();
  const setSeries = (operation: string, code: string, value: number) =>
    series.set(`${operation} ${code}`, labelled({ operation, code }, value));
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
      'How long requests under /v1 took, from their head to their answer.',
      latencies.flatMap(histogramOf),
    ),
    gauge('requests_in_flight', 'Requests that are not answered yet.', inFlight),
    gauge('event_streams', 'Streams of events that clients have open.', openStreams),
    counter(
      'page_cache_requests_total',
      'Lists that were asked for: sent again as they were (hit), or made anew (miss).',
      labelled({ result: 'hit' }, pageCache.hits),
      labelled({ result: 'miss' }, pageCache.misses),
    ),
    gauge('banned_keys', 'Keys that are banned now.', bans),
  ];
}

function histogramOf({ operation, buckets, sumSeconds }: TrafficLatency): Sample[] {
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

function ofStore({ processes, facts, troubles: found }: Measured): Metric[] {
  // On servers, workers commit by themselves; on an embedded store, one process writes for all, and each knows of it.
  const isShared = processes.length > 1 && facts.engine !== 'SQLite';
  const committing = isShared ? [facts, ...processes.map(({ store }) => store)] : [facts];
  const total = (name: string) => sumOfFact(committing, name);
  return [
    ...ofCommits(total),
    ...ofServers(total),
    gauge(
      'store_bytes',
      'Size of the store, by its files; on PostgreSQL, of its tables.',
      labelled({ part: 'data' }, facts.dataBytes),
      labelled({ part: 'wal' }, facts.walBytes),
      labelled({ part: 'limits' }, facts.limitBytes),
    ),
    gauge('disk_free_bytes', 'Free space on the disk of an embedded store.', facts.freeBytes),
    gauge(
      'trouble',
      'Whether a part of the store does not work now: 1, or 0 while all is well.',
      ...Object.entries(troubles).map(([part, text]) =>
        labelled({ part }, found.includes(text satisfies Trouble) ? 1 : 0),
      ),
    ),
  ];
}

type Total = (name: string) => number | undefined;

function ofCommits(total: Total): Metric[] {
  return [
    counter('writes_total', 'Changes that were committed, alone or with others.', total('units')),
    summary(
      'commit_seconds',
      'How long it took to commit groups of changes.',
      total('seconds'),
      total('groups'),
    ),
    gauge('writes_waiting', 'Changes that wait for their group to be committed.', total('waiting')),
  ];
}

function ofServers(total: Total): Metric[] {
  const busy = total('poolBusy');
  const idle = busy === undefined ? undefined : (total('poolConnections') ?? 0) - busy;
  return [
    gauge(
      'postgres_connections',
      'Connections to PostgreSQL.',
      labelled({ state: 'busy' }, busy),
      labelled({ state: 'idle' }, idle),
    ),
    gauge('postgres_waiting', 'Requests that wait for a connection to PostgreSQL.', total('poolWaiting')),
    summary(
      'postgres_statement_seconds',
      'How long statements took on PostgreSQL, with the way there.',
      total('postgresSeconds'),
      total('postgresStatements'),
    ),
    summary(
      'redis_request_seconds',
      'How long requests took on Redis, with the way there.',
      total('redisSeconds'),
      total('redisRequests'),
    ),
  ];
}

function ofDeliveries({ processes, deliveries }: Measured): Metric[] {
  const counts = Object.entries(sumOf(processes).deliveries);
  return [
    counter(
      'deliveries_total',
      'Attempts to send events to webhooks, by outcome: succeeded, repeated (failed, and attempted again), failed, expired.',
      ...counts.map(([outcome, attempts]) => labelled({ outcome }, attempts)),
    ),
    gauge('deliveries_pending', 'Pending deliveries, 10,000 at most.', deliveries?.pending),
    gauge(
      'delivery_oldest_pending_age_seconds',
      'Age of the oldest pending delivery to an enabled webhook; 0 without any.',
      deliveries && deliveries.oldestPendingAgeMs / 1_000,
    ),
  ];
}

function ofEvents({ processes, events }: Measured): Metric[] {
  const { last, oldestAgeMs, keepMs } = events ?? {};
  const seconds = (ms: number | undefined) => (ms === undefined ? undefined : ms / 1_000);
  return [
    counter('events_total', 'Events recorded since the store was created.', last),
    gauge('event_oldest_age_seconds', 'Age of the oldest retained event.', seconds(oldestAgeMs)),
    gauge(
      'event_retention_seconds',
      'How long events are retained (EVENTS_KEEP_DAYS); absent with EVENTS=off.',
      seconds(keepMs),
    ),
    gauge(
      'event_listeners',
      'Waiting requests and streams that receive new events.',
      sumOf(processes).eventListeners,
    ),
  ];
}

function ofBackups({ everyMs, latest, seconds, made, failed }: BackupFigures): Metric[] {
  return [
    counter(
      'backups_total',
      'Backups that the service made, or failed to make.',
      labelled({ result: 'made' }, made),
      labelled({ result: 'failed' }, failed),
    ),
    gauge(
      'backup_last_success_time_seconds',
      'When the latest backup was begun, in Unix seconds; 0: never.',
      (latest?.createdAt ?? 0) / 1_000,
    ),
    gauge('backup_last_bytes', 'Size of the latest backup.', latest?.bytes),
    gauge('backup_last_duration_seconds', 'How long the latest backup of the service took.', seconds),
    gauge(
      'backup_interval_seconds',
      'How often a backup is to be made (BACKUP_EVERY).',
      everyMs === undefined ? undefined : everyMs / 1_000,
    ),
  ];
}

function sumOfFact(facts: readonly StoreFacts[], name: string): number | undefined {
  const values = facts.map((one) => one[name]).filter((value) => typeof value === 'number');
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
}

type Value = Sample | StoreFacts[string] | undefined;

function labelled(labels: Labels, value: StoreFacts[string] | undefined): Sample | undefined {
  return typeof value === 'number' ? { labels, value } : undefined;
}

function metric(type: MetricType, name: string, help: string, values: readonly Value[]): Metric {
  const samples = values.flatMap((value) => {
    if (typeof value === 'number') return [{ value }];
    return typeof value === 'object' && value !== null ? [value] : [];
  });
  return { name: prefix + name, type, help, samples };
}

const counter = (name: string, help: string, ...values: Value[]) => metric('counter', name, help, values);
const gauge = (name: string, help: string, ...values: Value[]) => metric('gauge', name, help, values);

function summary(name: string, help: string, sum: number | undefined, count: number | undefined): Metric {
  const isKnown = sum !== undefined && count !== undefined;
  const samples = [
    { suffix: '_sum', value: sum ?? 0 },
    { suffix: '_count', value: count ?? 0 },
  ];
  return metric('summary', name, help, isKnown ? samples : []);
}
