import { FairQueue, restInProportion, type Wait } from '../../domain/fair-queue.ts';

/**
 * Paces the streams and requests of a process that search the stored events. Runs one read at a time, followed by a
 * rest, and alternates between accounts. Otherwise, a few streams that search a long history would occupy the event
 * loop and the database, because backpressure does not slow down a stream whose filter matches no events.
 */
export class CatchUpPacer extends FairQueue<number> {
  /** `now` is monotonic time in ms. */
  constructor(now?: () => number, wait?: Wait) {
    super(restInProportion(wait), now);
  }
}
