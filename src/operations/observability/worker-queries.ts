import type { Logging } from '../../contract/admin/system.ts';
import type { FailedRequest } from '../../contract/admin/usage.ts';
import type { Awaitable } from '../../domain/awaitable.ts';
import type { StoreFacts } from '../../storage/admin.ts';
import { type FailedRequestFilter, type FailedRequestSource, takeNewest } from './failed-requests.ts';
import { sumTraffic, type Traffic, type TrafficSource } from './traffic.ts';

/** Timeout for a worker's response. If a worker is slower, its previous response is used. */
export const replyTimeoutMs = 1_000;

export type WorkerQuery =
  | { readonly kind: 'traffic' }
  | { readonly kind: 'failed requests'; readonly filter: FailedRequestFilter }
  | { readonly kind: 'logging'; readonly patch: LoggingPatch };

export async function answerWorkerQuery(
  question: WorkerQuery,
  traffic: TrafficSource,
  logging: LoggingControl,
  failedRequests: FailedRequestSource,
): Promise<unknown> {
  if (question.kind === 'failed requests') return failedRequests.list(question.filter);
  if (question.kind === 'logging') return logging.update(question.patch);
  const [own] = await traffic.traffic();
  return own;
}

/** Queries the serving workers. Returns the responses that arrive in time, by worker number. */
type QueryWorkers = (question: WorkerQuery) => Promise<ReadonlyMap<number, unknown>>;

export class WorkerTrafficSource implements TrafficSource {
  readonly #ask: QueryWorkers;
  /** By worker number: the latest counters of the current process, and the sum of its predecessors' final counters. */
  readonly #known = new Map<number, { readonly last: Traffic; readonly ended: Traffic | undefined }>();

  constructor(ask: QueryWorkers) {
    this.#ask = ask;
  }

  async traffic(): Promise<readonly Traffic[]> {
    const answers = await this.#ask({ kind: 'traffic' });
    // All workers run the same version, so a response has the type that `answerWorkerQuery` returns.
    for (const [number, answer] of answers) this.#take(number, answer as Traffic);
    return [...this.#known.values()].map(({ last, ended }) =>
      ended === undefined ? last : addTraffic(last, ended),
    );
  }

  #take(number: number, now: Traffic): void {
    const known = this.#known.get(number);
    const isSame = known === undefined || known.last.startedAt === now.startedAt;
    const ended = isSame ? known?.ended : finalTraffic(known.last, known.ended);
    this.#known.set(number, { last: now, ended });
  }
}

/** The counters of a process that has exited, without its gauges. */
function finalTraffic(last: Traffic, before: Traffic | undefined): Traffic {
  const { counts, latencies, seconds, deliveries, pageCache, eventLoop, startedAt } = last;
  const ended = {
    ...{ startedAt, counts, latencies, seconds, deliveries, pageCache },
    eventLoop: { ...eventLoop, maxSeconds: 0 },
    output: { linesLost: last.output.linesLost, trouble: undefined },
    troubles: [],
    ...{ inFlight: 0, openStreams: 0, eventListeners: 0, memoryBytes: 0, store: sumRisingFacts(last.store) },
  };
  return before === undefined ? ended : addTraffic(ended, before);
}

function addTraffic(last: Traffic, ended: Traffic): Traffic {
  return {
    ...last,
    ...sumTraffic([last, ended]),
    store: { ...last.store, ...sumRisingFacts(last.store, ended.store) },
  };
}

/** Store statistics that only increase while a process runs. */
const risingFacts = [
  ...['groups', 'units', 'seconds'],
  ...['postgresStatements', 'postgresSeconds', 'redisRequests', 'redisSeconds', 'primaryReads'],
];
const readsOfReplica = /^replica\d+Reads$/;

function sumRisingFacts(...stores: readonly StoreFacts[]): StoreFacts {
  const names = new Set(stores.flatMap((store) => Object.keys(store)));
  const known = [...names].filter((name) => risingFacts.includes(name) || readsOfReplica.test(name));
  return Object.fromEntries(
    known.map((name) => [name, stores.reduce((sum, store) => sum + Number(store[name] ?? 0), 0)]),
  );
}

export const createFailedRequestSource = (ask: QueryWorkers): FailedRequestSource => ({
  list: async (filter) => {
    const answers = await ask({ kind: 'failed requests', filter });
    return takeNewest([...answers.values()].flat() as FailedRequest[], filter.limit);
  },
});

/** `later` is called with each change, for workers that start later. */
export const createLoggingControl = (
  own: LoggingControl,
  ask: QueryWorkers,
  later: (changed: Logging) => void,
): LoggingControl => ({
  get current() {
    return own.current;
  },
  update: async (patch) => {
    const changed = await own.update(patch);
    later(changed);
    await ask({ kind: 'logging', patch: changed });
    return changed;
  },
});

export type LoggingPatch = { readonly [Name in keyof Logging]?: Logging[Name] | undefined };

export interface LoggingControl {
  readonly current: Logging;
  /** Changes the settings in every process, including replacements, until the instance is restarted. */
  update(patch: LoggingPatch): Awaitable<Logging>;
}
