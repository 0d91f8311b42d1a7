import { type Usage, unused } from '../../../domain/limit.ts';
import { largestQuota } from '../../../domain/plan.ts';
import { checksumOf, nextSequence, tables } from './layout.ts';
import type { LimitFile } from './limit-file.ts';
import { LimitTable } from './table.ts';

/**
 * A record is a lock, a sequence number, two copies of what the account used, and their checksums. Its last bit tells
 * which copy counts; a write fills the other one and then moves the sequence on, so that whoever is killed leaves the
 * one or the other state.
 */
const recordBytes = 64;
const sequenceWord = 1;
const copiesByte = 8;
/** Both counts as 64-bit numbers, and the seconds in which the windows opened. */
const copyBytes = 24;
const copyWords = copyBytes / 4;
const checksumsWord = 14;

/** What each account used. Callers have the lock of the record, which is its first word. */
export class AccountCounts {
  readonly #file: LimitFile;
  readonly table: LimitTable;

  constructor(file: LimitFile) {
    this.#file = file;
    this.table = new LimitTable(file, tables.accounts, recordBytes);
  }

  /** Whether anything was ever counted in the record. */
  isWritten(offset: number): boolean {
    return this.#file.i32[offset / 4 + sequenceWord] !== 0;
  }

  /** What the record says; undefined when neither copy is as it was written. */
  read(offset: number, id: number): Usage | undefined {
    const sequence = this.#file.i32[offset / 4 + sequenceWord] as number;
    if (sequence === 0) return this.#unwritten();
    if (this.#isSound(offset, id, sequence & 1)) return this.#copy(offset, sequence & 1);
    // Torn by a power failure: the other copy is what was there before.
    const other = 1 - (sequence & 1);
    return this.#isSound(offset, id, other) ? this.#copy(offset, other) : undefined;
  }

  write(offset: number, id: number, { minute, day }: Usage): void {
    const { i32, f64 } = this.#file;
    const word = offset / 4;
    const sequence = nextSequence(i32[word + sequenceWord] as number);
    const copy = sequence & 1;
    const from = offset + copiesByte + copy * copyBytes;
    f64[from / 8] = minute.count;
    f64[from / 8 + 1] = day.count;
    i32[from / 4 + 4] = minute.openedAt;
    i32[from / 4 + 5] = day.openedAt;
    i32[word + checksumsWord + copy] = checksumOf(i32, from / 4, copyWords, id);
    Atomics.store(i32, word + sequenceWord, sequence);
    this.#file.changed();
  }

  #unwritten(): Usage {
    const { strictSince } = this.#file;
    return strictSince === 0 ? unused : usedUp(strictSince);
  }

  #isSound(offset: number, id: number, copy: number): boolean {
    const { i32 } = this.#file;
    const from = (offset + copiesByte + copy * copyBytes) / 4;
    return i32[offset / 4 + checksumsWord + copy] === checksumOf(i32, from, copyWords, id);
  }

  #copy(offset: number, copy: number): Usage {
    const { i32, f64 } = this.#file;
    const from = offset + copiesByte + copy * copyBytes;
    return {
      minute: { openedAt: (i32[from / 4 + 4] as number) >>> 0, count: f64[from / 8] as number },
      day: { openedAt: (i32[from / 4 + 5] as number) >>> 0, count: f64[from / 8 + 1] as number },
    };
  }
}

/** Both windows full, since a second: what is not known was used. */
export function usedUp(openedAt: number): Usage {
  return { minute: { openedAt, count: largestQuota }, day: { openedAt, count: largestQuota } };
}
