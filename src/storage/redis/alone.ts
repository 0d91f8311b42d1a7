import { setTimeout as sleep } from 'node:timers/promises';
import type { Versions } from '../storage.ts';

/** While Redis is away, a caller read from the database counts for this long. */
const callerFreshMs = 1_000;

/**
 * Versions while Redis cannot tell them. No two are alike, so that no page is taken from a cache: every read goes to
 * the database. They are negative, so that Redis knows none of them when it is back.
 */
export class AloneVersions {
  #count = 0;

  next(): Versions {
    this.#count++;
    return { callers: -Math.ceil(performance.now()), pets: -this.#count };
  }

  /** Whether a caller read under this version may still be relied on. */
  isFresh(callersVersion: number): boolean {
    return callersVersion < 0 && performance.now() + callersVersion < callerFreshMs;
  }

  /**
   * Resolves when no instance that cannot ask Redis relies on a caller it read before now: who writes callers waits
   * for it in place of telling Redis, so that the next request after the acknowledgement obeys on each of them.
   */
  async callersReadBefore(): Promise<void> {
    await sleep(callerFreshMs);
  }
}
