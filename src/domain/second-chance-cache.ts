/** What is held, with a note of whether it was used since the hand of the clock last came by. */
export interface Held {
  isRecent: boolean;
}

/**
 * A bounded cache that evicts an entry that was not used recently (the CLOCK algorithm). A hit costs a look
 * and a note, where one that keeps its entries in the order of their use touches three of them: with 100,000 entries
 * that is a microsecond.
 */
export class SecondChanceCache<Key, Value extends Held> {
  readonly #entries = new Map<Key, Value>();
  readonly #most: number;
  #hand: MapIterator<[Key, Value]> = this.#entries.entries();

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) value.isRecent = true;
    return value;
  }

  set(key: Key, value: Value): void {
    if (!this.#entries.has(key)) this.#makeRoom();
    this.#entries.set(key, value);
  }

  delete(key: Key): void {
    this.#entries.delete(key);
  }

  /** Ends within two rounds of the hand, for the first one takes all notes away. */
  #makeRoom(): void {
    while (this.#entries.size >= this.#most) {
      const { done, value: entry } = this.#hand.next();
      if (done) {
        this.#hand = this.#entries.entries();
        continue;
      }
      const [key, value] = entry;
      if (value.isRecent) value.isRecent = false;
      else this.#entries.delete(key);
    }
  }
}
