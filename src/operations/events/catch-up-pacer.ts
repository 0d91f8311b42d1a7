import { FairQueue } from '../../domain/fair-queue.ts';

/**
 * Length of the rest after a read, as a multiple of the read's duration. A process spends at most a quarter of its time
 * on catching up.
 */
const restPerRead = 3;
/** Maximum rest in ms. A read that waited for an unreachable store must not delay the next one by much. */
const maxRestMs = 1_000;

/**
 * Paces the streams and requests of a process that search the stored events. Runs one read at a time, followed by a
 * rest, and alternates between accounts. Otherwise, a few streams that search a long history would occupy the event
 * loop and the database, because backpressure does not slow down a stream whose filter matches no events.
 */
export class CatchUpPacer extends FairQueue<number> {
  /** `now` is monotonic time in ms. `rest` calls `next` after a time in ms. */
  constructor(
    now?: () => number,
    rest = (ms: number, next: () => void) => void setTimeout(next, ms).unref(),
  ) {
    super((tookMs, next) => rest(Math.min(restPerRead * tookMs, maxRestMs), next), now);
  }
}
