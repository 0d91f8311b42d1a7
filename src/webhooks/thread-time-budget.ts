/**
 * Divides the processor time of the thread that talks to receivers between accounts. Clients choose the receivers and
 * the name servers, and the runtime processes certificates and answers without interruption.
 */
import { LRUCache } from 'lru-cache';
import { maxEntries } from '../domain/max-entries.ts';

/** After using the thread, an account leaves it to others for this multiple of the time used. */
const restFactor = 10;
/** Processor time that an ordinary connection, or one reading of a lookup, takes. It is not charged. */
const exemptMs = 5;
/** An account rests once it has used more than 200 ms. */
const allowanceMs = 200 * restFactor;
const maxRestMs = 60_000;
const maxAccounts = 10_000;
/** Interval between CPU-time readings while lookups are in flight. Prevents a lookup from being charged for earlier work. */
const readEveryMs = 10;

interface TimeSources {
  /** Monotonic time in ms. */
  readonly now: () => number;
  /** Processor time that this thread has used, in ms. Unlike `now`, it excludes pauses on a busy machine. */
  readonly used: () => number;
}

const systemSources: TimeSources = {
  now: () => performance.now(),
  used: () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  },
};

/** Charges an account for the synchronous work of one connection. */
export interface Meter {
  /** Whole seconds until the account may use the thread again; 0 if it may. */
  restSeconds(): number;
  run(work: () => void): void;
}

export class ThreadTimeBudget {
  readonly #sources: TimeSources;
  /** The time at which the use of each account will be paid off, in ms. */
  readonly #paidOffAt = new LRUCache<number, number>(maxEntries(maxAccounts));
  /** The accounts of the lookups in flight. */
  readonly #waiting = new Map<symbol, number>();
  #timer: NodeJS.Timeout | undefined;
  #readMs = 0;

  constructor(sources: TimeSources = systemSources) {
    this.#sources = sources;
  }

  /** Whole seconds until the account may use the thread again; 0 if it may. */
  restSeconds(accountId: number): number {
    const restMs = (this.#paidOffAt.get(accountId) ?? 0) - allowanceMs - this.#sources.now();
    return Math.max(0, Math.ceil(restMs / 1_000));
  }

  /** Returns the meter of a new connection. */
  meter(accountId: number): Meter {
    let uncountedMs = exemptMs;
    return {
      restSeconds: () => this.restSeconds(accountId),
      run: (work) => {
        this.#chargeWaiting();
        work();
        const usedMs = this.#charge([accountId], uncountedMs);
        uncountedMs = Math.max(0, uncountedMs - usedMs);
      },
    };
  }

  /**
   * Charges an account for the processor time that the runtime uses for a lookup, immediately before the promise is
   * settled. Only the last part of an answer causes an event, so the time for earlier parts is charged to all lookups
   * in flight.
   */
  async duringLookup<T>(accountId: number, lookUp: () => Promise<T>): Promise<T> {
    const lookup = Symbol();
    this.#chargeWaiting();
    this.#waiting.set(lookup, accountId);
    this.#timer ??= setInterval(() => this.#chargeWaiting(), readEveryMs);
    try {
      return await lookUp();
    } finally {
      this.#charge([accountId]);
      this.#waiting.delete(lookup);
      if (this.#waiting.size === 0) {
        clearInterval(this.#timer);
        this.#timer = undefined;
      }
    }
  }

  #chargeWaiting(): void {
    this.#charge([...this.#waiting.values()]);
  }

  /**
   * Divides the processor time since the last reading between these accounts, except for `uncountedMs`. Returns this time,
   * in ms.
   */
  #charge(accountIds: readonly number[], uncountedMs = exemptMs): number {
    const readMs = this.#sources.used();
    const usedMs = readMs - this.#readMs;
    this.#readMs = readMs;
    const costMs = usedMs - uncountedMs;
    if (costMs <= 0) return usedMs;
    const now = this.#sources.now();
    const restMs = (costMs * restFactor) / accountIds.length;
    for (const accountId of accountIds) {
      const from = Math.max(now, this.#paidOffAt.get(accountId) ?? 0);
      this.#paidOffAt.set(accountId, Math.min(from + restMs, now + allowanceMs + maxRestMs));
    }
    return usedMs;
  }
}
