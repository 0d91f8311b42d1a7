import { minuteSeconds, noUsage, type Window } from '../limit.ts';
import { header, limitTables } from './layout.ts';
import type { LimitFile } from './limit-file.ts';
import type { RecordLocks } from './record-locks.ts';
import { LimitTable } from './table.ts';

/** Number of addresses per set. All sets have room for a total of 114,576 addresses. */
const ways = 7;
const setBytes = 128;
/**
 * Position of the first entry in a set, after the lock. An entry consists of a two-word hash of the address, the time
 * in seconds at which its window opened, and its count.
 */
const waysWord = 4;
const wayWords = 4;

/**
 * Failed authentications by address. Each address belongs to one set, in which it replaces an expired entry or the
 * oldest entry. Callers must hold the lock of the set, which is the first word of the set.
 */
export class AddressFailureTable {
  readonly #file: LimitFile;
  readonly #table: LimitTable;
  readonly #seed: bigint;
  #low = 0;
  #high = 0;

  constructor(file: LimitFile) {
    this.#file = file;
    this.#table = new LimitTable(file, limitTables.addresses, setBytes);
    const { i32 } = file;
    const seed = BigInt((i32[header.seedHigh] as number) >>> 0) << 32n;
    this.#seed = seed | BigInt((i32[header.seedLow] as number) >>> 0);
  }

  /** Allocates all sets. Throws system errors. */
  make(locks: RecordLocks): void {
    for (let set = 0; set < this.#table.capacity; set += this.#table.recordsPerExtent)
      this.#table.make(set, locks);
  }

  /** Selects an address for `read` and `write`, and returns the offset of its set. */
  find(address: string): number {
    const hash = Bun.hash.wyhash(address, this.#seed);
    this.#low = Number(BigInt.asIntN(32, hash));
    // A hash of 0 marks a free slot.
    this.#high = Number(BigInt.asIntN(32, hash >> 32n)) || 1;
    return this.#table.find((this.#low >>> 0) % this.#table.capacity);
  }

  read(set: number): Window {
    const { i32 } = this.#file;
    const way = this.#wayOf(set);
    if (way === undefined) return noUsage.minute;
    return { openedAt: (i32[way + 2] as number) >>> 0, count: (i32[way + 3] as number) >>> 0 };
  }

  write(set: number, window: Window, nowMs: number): void {
    const { i32 } = this.#file;
    const way = this.#wayOf(set) ?? this.#leastUseful(set, nowMs);
    i32[way] = this.#low;
    i32[way + 1] = this.#high;
    i32[way + 2] = window.openedAt;
    i32[way + 3] = window.count;
    this.#file.changed();
  }

  #wayOf(set: number): number | undefined {
    const { i32 } = this.#file;
    for (let index = 0; index < ways; index++) {
      const way = set / 4 + waysWord + index * wayWords;
      if (i32[way] === this.#low && i32[way + 1] === this.#high) return way;
    }
    return undefined;
  }

  #leastUseful(set: number, nowMs: number): number {
    const { i32 } = this.#file;
    const ended = Math.floor(nowMs / 1_000) - minuteSeconds;
    let found = set / 4 + waysWord;
    for (let index = 0; index < ways; index++) {
      const way = set / 4 + waysWord + index * wayWords;
      const openedAt = (i32[way + 2] as number) >>> 0;
      if (openedAt <= ended) return way;
      if (openedAt < (i32[found + 2] as number) >>> 0) found = way;
    }
    return found;
  }
}
