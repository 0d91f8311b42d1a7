/** Maximum number of waiting requests per account and process. Each holds a connection for up to 30 s. */
const maxOfAccount = 100;
/** The limit for all operators together, because far fewer connections are allowed on the admin port. */
const maxOfOperators = 32;

type Owner = number | 'all';

export interface WaitSlot extends Disposable {
  /** Whether the wait must end, because later waits of the same account need its slot. */
  readonly hasEnded: boolean;
  /** Called when the wait must end. */
  onEnd: () => void;
}

/**
 * Limits the number of requests that wait for events. At the limit, another request ends the oldest wait, which returns
 * an empty page, as after a timeout. No request is rejected, and the connections of other accounts stay open.
 */
export class WaitSlots {
  /** The functions that end the waits of each account, oldest first. */
  readonly #waiting = new Map<Owner, Set<() => void>>();

  enter(owner: Owner): WaitSlot {
    const slot = {
      hasEnded: false,
      onEnd: () => undefined,
      [Symbol.dispose]: () => {
        waits.delete(end);
        if (waits.size === 0 && this.#waiting.get(owner) === waits) this.#waiting.delete(owner);
      },
    };
    const end = () => {
      slot.hasEnded = true;
      slot.onEnd();
    };
    const waits = this.#waiting.get(owner) ?? new Set();
    this.#waiting.set(owner, waits.add(end));
    const excess = waits.size - (owner === 'all' ? maxOfOperators : maxOfAccount);
    for (const oldest of waits.values().take(Math.max(0, excess))) {
      waits.delete(oldest);
      oldest();
    }
    return slot;
  }
}
