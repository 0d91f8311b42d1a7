import { ApiError } from '../../contract/api-error.ts';
import type { Awaitable } from '../../domain/awaitable.ts';
import { FairQueue, restInProportion } from '../../domain/fair-queue.ts';

const rest = restInProportion();
const maxWaitMs = 30_000;
const tooManyError = new Error('too many requests of operators are waiting');
const disconnectedError = new Error('the client disconnected before the request began');

/** After shorter reads, the next one begins in the next tick of the event loop. */
const shortReadMs = 5;

/**
 * Runs the reads of operators one at a time, alternating between operators and resting after long reads. Reads of an
 * embedded store block the event loop, and others use connections to PostgreSQL, so a program that sends many requests
 * would otherwise delay the clients. Reads whose client has disconnected are skipped.
 */
export class ReadTurns {
  readonly #queue = new FairQueue<string>((tookMs, next) => {
    if (tookMs < shortReadMs) setImmediate(next);
    else rest(tookMs, next);
  });

  /** `owner` is the operator. Throws `service_unavailable` if the turn does not come within 30 s. */
  async run<T extends object>(
    owner: string,
    { signal }: Pick<Request, 'signal'>,
    read: () => Awaitable<T>,
  ): Promise<T> {
    const result = await this.#queue.take(
      owner,
      async () => {
        if (signal.aborted) throw new ApiError('service_unavailable', { cause: disconnectedError });
        return read();
      },
      maxWaitMs,
    );
    if (result === undefined) throw new ApiError('service_unavailable', { cause: tooManyError });
    return result;
  }
}
