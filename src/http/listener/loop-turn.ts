import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Awaitable } from '../../domain/awaitable.ts';

/** Maximum time from the first request of an event-loop turn until later requests of the turn have to wait. */
const maxTurnMs = 5;

/**
 * Limits how long requests extend a turn of the event loop. In one turn, the runtime accepts connections and serves their
 * first requests until no more connections arrive. Without a limit, clients that reconnect as soon as they are served
 * would keep the turn going, while other connections, timers and writes wait.
 */
export class LoopTurn {
  #endsAt: number | undefined;

  /**
   * Runs the work immediately, or in a later turn if the current one is over. Work that waits runs in the order in which
   * it began to wait.
   */
  run<T>(work: () => Awaitable<T>, now = performance.now()): Awaitable<T> {
    return this.#isOver(now) ? this.#runLater(work) : work();
  }

  async #runLater<T>(work: () => Awaitable<T>): Promise<T> {
    do await nextTurn();
    while (this.#isOver(performance.now()));
    return work();
  }

  #isOver(now: number): boolean {
    if (this.#endsAt !== undefined) return now > this.#endsAt;
    this.#endsAt = now + maxTurnMs;
    setImmediate(() => {
      this.#endsAt = undefined;
    });
    return false;
  }
}
