/** Searches and sorted lists for operators, which examine many rows. */
import { ApiError } from '../../contract/api-error.ts';
import { type Actor, formatActor } from '../../domain/actor.ts';
import { FairQueue, restInProportion } from '../../domain/fair-queue.ts';

/** Alternates between operators, and rests after each search. */
const queue = new FairQueue<string>(restInProportion());
/** Maximum time that a search waits for its turn. */
const maxWaitMs = 10_000;
const tooManyError = new Error('too many searches are waiting');

/**
 * Runs one search at a time. Many searches, whose clients may have disconnected, would otherwise delay the clients. Throws
 * `service_unavailable` if the search's turn does not come within 10 s.
 */
export async function runInTurn<T extends object>(actor: Actor, search: () => Promise<T>): Promise<T> {
  const result = await queue.take(formatActor(actor), search, maxWaitMs);
  if (result === undefined) throw new ApiError('service_unavailable', { cause: tooManyError });
  return result;
}
