import type { Logging } from '../../contract/admin/system.ts';
import type { Awaitable } from '../../domain/awaitable.ts';
import type { StoreFacts } from '../../storage/admin.ts';
import { sumOf, type Traffic, type TrafficSource } from './traffic.ts';

/** How long workers have for an answer. A busier one is represented by its last answer. */
const answerWithinMs = 1_000;

export type WorkerQuestion =
  | { readonly kind: 'traffic' }
  | { readonly kind: 'logging'; readonly patch: LoggingPatch };

export async function answerAsWorker(
  question: WorkerQuestion,
  traffic: TrafficSource,
  logging: LoggingControl,
): Promise<unknown> {
  if (question.kind === 'logging') return logging.update(question.patch);
  const [own] = await traffic.traffic();
  return own;
}

/** Asks the workers that serve; answers by number, of those that answer within the time. */
type AskWorkers = (question: WorkerQuestion, withinMs: number) => Promise<ReadonlyMap<number, unknown>>;

export class WorkersTraffic implements TrafficSource {
  readonly #ask: AskWorkers;
  /** By number: what it said last, and what those said at their end that it took the place of. */
  readonly #known = new Map<number, { readonly last: Traffic; readonly ended: Traffic | undefined }>();

  constructor(ask: AskWorkers) {
    this.#ask = ask;
  }

  async traffic(): Promise<readonly Traffic[]> {
    const answers = await this.#ask({ kind: 'traffic' }, answerWithinMs);
    // This program's own, of the same version: what they say is what `answerAsWorker` made.
    for (const [number, answer] of answers) this.#take(number, answer as Traffic);
    return [...this.#known.values()].map(({ last, ended }) =>
      ended === undefined ? last : together(last, ended),
    );
  }

  #take(number: number, now: Traffic): void {
    const known = this.#known.get(number);
    const isSame = known === undefined || known.last.startedAt === now.startedAt;
    const ended = isSame ? known?.ended : endedOf(known.last, known.ended);
    this.#known.set(number, { last: now, ended });
  }
}

/** What is left of a process that ended: what it counted, but nothing that was only while it ran. */
function endedOf(last: Traffic, before: Traffic | undefined): Traffic {
  const { counts, latencies, seconds, deliveries, pageCache, eventLoop, startedAt } = last;
  const ended = {
    ...{ startedAt, counts, latencies, seconds, deliveries, pageCache },
    eventLoop: { ...eventLoop, maxSeconds: 0 },
    ...{ inFlight: 0, openStreams: 0, eventListeners: 0, memoryBytes: 0, store: risingIn(last.store) },
  };
  return before === undefined ? ended : together(ended, before);
}

function together(last: Traffic, ended: Traffic): Traffic {
  return { ...last, ...sumOf([last, ended]), store: { ...last.store, ...risingIn(last.store, ended.store) } };
}

/** The facts of a store that count from the start of a process on. */
const risingFacts = [
  ...['groups', 'units', 'seconds'],
  ...['postgresStatements', 'postgresSeconds', 'redisRequests', 'redisSeconds'],
];

function risingIn(...stores: readonly StoreFacts[]): StoreFacts {
  const known = risingFacts.filter((name) => stores.some((store) => name in store));
  return Object.fromEntries(
    known.map((name) => [name, stores.reduce((sum, store) => sum + Number(store[name] ?? 0), 0)]),
  );
}

export class WorkersLogging implements LoggingControl {
  readonly #own: LoggingControl;
  readonly #ask: AskWorkers;
  readonly #later: (changed: Logging) => void;

  /** `later` receives the settings for workers that start from now on. */
  constructor(own: LoggingControl, ask: AskWorkers, later: (changed: Logging) => void) {
    this.#own = own;
    this.#ask = ask;
    this.#later = later;
  }

  get current(): Logging {
    return this.#own.current;
  }

  async update(patch: LoggingPatch): Promise<Logging> {
    const changed = await this.#own.update(patch);
    this.#later(changed);
    await this.#ask({ kind: 'logging', patch: changed }, answerWithinMs);
    return changed;
  }
}

export type { Logging };

export type LoggingPatch = { readonly [Name in keyof Logging]?: Logging[Name] | undefined };

export interface LoggingControl {
  readonly current: Logging;
  /** Changes it until the instance is restarted, in every process, and in those that take the place of one. */
  update(patch: LoggingPatch): Awaitable<Logging>;
}
