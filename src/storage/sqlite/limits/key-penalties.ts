import { type BanRules, type KeyPenalty, noPenalty } from '../../../domain/limit.ts';
import { checksumOf, nextSequence, tables } from './layout.ts';
import type { LimitFile } from './limit-file.ts';
import { LimitTable } from './table.ts';

/**
 * A record is a sequence number, the sequence that was lifted, two copies, their checksums, and the instants of the
 * strikes in a ring. The last bit of the sequence tells which copy counts (see `AccountCounts`).
 */
const liftedWord = 1;
const copiesByte = 8;
/** The episode's two instants, the ban's end and level, and from where and how many strikes of the ring there are. */
const copyBytes = 32;
const copyWords = copyBytes / 4;
const checksumsWord = 18;
const ringByte = 80;
const strikeBytes = 8;

/**
 * What each key did after 429. Who changes a record has the lock of the key's account; who lifts a ban needs none, for
 * that is one word, and it names the state it is about.
 */
export class KeyPenalties {
  readonly #file: LimitFile;
  readonly #capacity: number;
  readonly table: LimitTable;

  /** `strikes` is how many a record has room for. */
  constructor(file: LimitFile, strikes = file.strikes) {
    this.#file = file;
    this.#capacity = strikes;
    this.table = new LimitTable(file, tables.keys, ringByte + strikes * strikeBytes);
  }

  /** What the record says; undefined when neither copy is as it was written. */
  read(offset: number, id: number): KeyPenalty | undefined {
    const { i32 } = this.#file;
    const sequence = i32[offset / 4] as number;
    if (sequence === 0 || i32[offset / 4 + liftedWord] === sequence) return noPenalty;
    const copy = this.#soundCopy(offset, id, sequence);
    return copy === undefined ? undefined : this.#copy(offset, copy);
  }

  /** `before` is what was read. */
  write(offset: number, id: number, before: KeyPenalty, penalty: KeyPenalty): void {
    const { i32, f64 } = this.#file;
    const sequence = nextSequence(i32[offset / 4] as number);
    const copy = sequence & 1;
    const from = offset + copiesByte + copy * copyBytes;
    const { start, strikes } = this.#place(offset, id, before, penalty);
    f64[from / 8] = penalty.episodeFrom;
    f64[from / 8 + 1] = penalty.episodeUntil;
    i32[from / 4 + 4] = penalty.bannedUntil;
    i32[from / 4 + 5] = penalty.banLevel;
    i32[from / 4 + 6] = start;
    i32[from / 4 + 7] = strikes;
    i32[offset / 4 + checksumsWord + copy] = checksumOf(i32, from / 4, copyWords, id);
    Atomics.store(i32, offset / 4, sequence);
    this.#file.changed();
  }

  /** Which state of the record counts, for `lift`. */
  sequence(offset: number): number {
    return Atomics.load(this.#file.i32, offset / 4);
  }

  /** From now on this state of the record is none; another one that came meanwhile stays. */
  lift(offset: number, sequence: number): void {
    Atomics.store(this.#file.i32, offset / 4 + liftedWord, sequence);
    this.#file.changed();
  }

  /**
   * Puts strikes into the ring and tells where they begin. Those that were there already stay where they are, and a new
   * one comes behind them, where the copy that still counts has none or one that is older.
   */
  #place(offset: number, id: number, before: KeyPenalty, { strikes }: KeyPenalty) {
    const { i32, f64 } = this.#file;
    const kept = strikes.slice(-this.#capacity);
    const sequence = i32[offset / 4] as number;
    const copy = before.strikes.length === 0 ? undefined : this.#soundCopy(offset, id, sequence);
    const old = copy === undefined ? 0 : (i32[(offset + copiesByte + copy * copyBytes) / 4 + 6] as number);
    const skipped = kept.length === 0 ? -1 : before.strikes.indexOf(kept[0] as number);
    const start = skipped === -1 ? old : (old + skipped) % this.#capacity;
    for (const [index, at] of kept.entries()) {
      const place = (offset + ringByte) / 8 + ((start + index) % this.#capacity);
      if (f64[place] !== at) f64[place] = at;
    }
    return { start, strikes: kept.length };
  }

  #soundCopy(offset: number, id: number, sequence: number): number | undefined {
    const newer = sequence & 1;
    if (this.#isSound(offset, id, newer)) return newer;
    return this.#isSound(offset, id, 1 - newer) ? 1 - newer : undefined;
  }

  #isSound(offset: number, id: number, copy: number): boolean {
    const { i32 } = this.#file;
    const from = (offset + copiesByte + copy * copyBytes) / 4;
    return i32[offset / 4 + checksumsWord + copy] === checksumOf(i32, from, copyWords, id);
  }

  #copy(offset: number, copy: number): KeyPenalty {
    const { i32, f64 } = this.#file;
    const from = offset + copiesByte + copy * copyBytes;
    const start = i32[from / 4 + 6] as number;
    const count = i32[from / 4 + 7] as number;
    const strikes: number[] = [];
    for (let index = 0; index < count; index++) {
      strikes.push(f64[(offset + ringByte) / 8 + ((start + index) % this.#capacity)] as number);
    }
    return {
      episodeFrom: f64[from / 8] as number,
      episodeUntil: f64[from / 8 + 1] as number,
      strikes,
      bannedUntil: (i32[from / 4 + 4] as number) >>> 0,
      banLevel: i32[from / 4 + 5] as number,
    };
  }
}

/** What a key whose record cannot be read did, as far as is known: all that there is a longest ban for. */
export function longestBan({ firstBanSeconds, longestBanSeconds }: BanRules, nowMs: number): KeyPenalty {
  const banLevel = Math.max(0, Math.ceil(Math.log2(longestBanSeconds / firstBanSeconds)));
  return { ...noPenalty, bannedUntil: Math.floor(nowMs / 1_000) + longestBanSeconds, banLevel };
}
