import { FairQueue } from '../../domain/fair-queue.ts';

/** The share of its time that a process spends on catching up is one quarter: each read is followed by a rest. */
const restPerRead = 3;
/** Maximum rest in ms. A read that waited for an unreachable store must not delay the next one by much. */
const maxRestMs = 1_000;

/**
 * Paces the streams and requests of a process that search the stored events: one read at a time, with a rest after it, by
 * turns between accounts. Otherwise, a few streams that search a long history would occupy the event loop and the
 * database, and no backpressure slows a stream down whose filter matches no event.
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
