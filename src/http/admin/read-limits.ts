import { ApiError } from '../../contract/api-error.ts';
import type { Awaitable } from '../../domain/awaitable.ts';
import { restInProportion } from '../../domain/fair-queue.ts';

/** Maximum number of an operator's reads in progress, and waiting. */
const maxAtOnce = 2;
const maxWaiting = 64;
/** After shorter reads, the next one begins in the next tick of the event loop. */
const shortReadMs = 5;
const rest = restInProportion();

/** An operator sends more requests than can wait. Not an outage of the store. */
export class TooManyReadsError extends Error {}

interface Owner {
  /** Number of reads in progress or resting. */
  busy: number;
  /** Begins the waiting reads, in order. */
  readonly waiting: Set<() => void>;
}

/** A read in progress. */
export interface Turn {
  /** Whether the read had to wait for earlier reads before it began. */
  readonly hasWaited: boolean;
  /**
   * Runs `wait`, during which the read is not in progress. The read then continues in turn, after the reads that are
   * waiting. Throws the same errors as `run`.
   */
  readonly pause: <T>(wait: () => Promise<T>) => Promise<T>;
}

/**
 * Limits the reads of each operator, and pauses after long ones. Reads of an embedded store block the event loop, and
 * those of PostgreSQL occupy its connections, so a program that sends many requests would otherwise delay the clients.
 * Reads whose client disconnects before they begin are skipped.
 */
export class ReadLimits {
  readonly #owners = new Map<string, Owner>();

  /**
   * `name` identifies the operator. Throws `service_unavailable` if too many of the operator's reads are waiting.
   */
  async run<T>(
    name: string,
    { signal }: Pick<Request, 'signal'>,
    read: (turn: Turn) => Awaitable<T>,
  ): Promise<T> {
    let begun = await this.#begin(name, signal);
    try {
      return await read({
        hasWaited: begun.hasWaited,
        pause: async (wait) => {
          begun.end();
          const outcome = await wait();
          begun = await this.#begin(name, signal);
          return outcome;
        },
      });
    } finally {
      begun.end();
    }
  }

  async #begin(name: string, signal: AbortSignal) {
    const owner = this.#owners.get(name) ?? { busy: 0, waiting: new Set() };
    this.#owners.set(name, owner);
    const hasWaited = await waitForTurn(owner, signal);
    const start = performance.now();
    let hasEnded = false;
    const end = () => {
      if (hasEnded) return;
      hasEnded = true;
      const next = () => this.#release(name, owner);
      const tookMs = performance.now() - start;
      if (tookMs < shortReadMs) setImmediate(next);
      else rest(tookMs, next);
    };
    return { hasWaited, end };
  }

  #release(name: string, owner: Owner): void {
    owner.busy--;
    const [begin] = owner.waiting;
    if (begin !== undefined) begin();
    else if (owner.busy === 0) this.#owners.delete(name);
  }
}

/** Resolves when the read may begin, and counts it as busy. Returns whether the read had to wait. */
async function waitForTurn(owner: Owner, signal: AbortSignal): Promise<boolean> {
  if (owner.busy < maxAtOnce) {
    owner.busy++;
    return false;
  }
  if (owner.waiting.size >= maxWaiting) {
    const cause = new TooManyReadsError(`${maxWaiting} requests of the operator are waiting`);
    throw new ApiError('service_unavailable', { cause });
  }
  const turn = Promise.withResolvers<void>();
  const begin = () => {
    owner.waiting.delete(begin);
    owner.busy++;
    turn.resolve();
  };
  const leave = () => {
    owner.waiting.delete(begin);
    turn.reject(new ApiError('internal_error', { cause: signal.reason }));
  };
  owner.waiting.add(begin);
  signal.addEventListener('abort', leave, { once: true });
  if (signal.aborted) leave();
  await turn.promise.finally(() => signal.removeEventListener('abort', leave));
  return true;
}
