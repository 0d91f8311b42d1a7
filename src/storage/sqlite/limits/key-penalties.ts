import { type BanRules, type KeyPenalty, noPenalty } from '../../../domain/limit.ts';
import { tables } from './layout.ts';
import type { LimitFile } from './limit-file.ts';
import { LimitTable } from './table.ts';
import { TwoCopies } from './two-copies.ts';

/** A record is two copies of a penalty, the sequence number of the one that was lifted, and the strikes' instants in a ring. */
const liftedWord = 1;
/** The episode's two instants, the ban's end and level, and from where and how many strikes of the ring there are. */
const copies = { sequenceWord: 0, copiesByte: 8, copyBytes: 32, checksumsWord: 18 };
const ringByte = 80;
const strikeBytes = 8;

/**
 * What each key did after 429. Who changes a record has the lock of the key's account; who lifts a ban needs none, for
 * that is one word, and it names the state it is about.
 */
export class KeyPenalties {
  readonly #file: LimitFile;
  readonly #copies: TwoCopies;
  readonly #capacity: number;
  readonly table: LimitTable;

  /** `strikes` is how many a record has room for. */
  constructor(file: LimitFile, strikes = file.strikes) {
    this.#file = file;
    this.#copies = new TwoCopies(file, copies);
    this.#capacity = strikes;
    this.table = new LimitTable(file, tables.keys, ringByte + strikes * strikeBytes);
  }

  /** What the record says; undefined when neither copy is as it was written. */
  read(record: number, id: number): KeyPenalty | undefined {
    const { i32, f64 } = this.#file;
    const sequence = this.sequence(record);
    if (sequence === 0 || i32[record / 4 + liftedWord] === sequence) return noPenalty;
    const from = this.#copies.current(record, id);
    if (from === undefined) return undefined;
    return {
      episodeFrom: f64[from / 8] as number,
      episodeUntil: f64[from / 8 + 1] as number,
      strikes: this.#strikes(record, i32[from / 4 + 6] as number, i32[from / 4 + 7] as number),
      bannedUntil: (i32[from / 4 + 4] as number) >>> 0,
      banLevel: i32[from / 4 + 5] as number,
    };
  }

  /** `before` is what was read. */
  write(record: number, id: number, before: KeyPenalty, penalty: KeyPenalty): void {
    const { i32, f64 } = this.#file;
    const start = this.#placeStrikes(record, id, before, penalty);
    const from = this.#copies.next(record);
    f64[from / 8] = penalty.episodeFrom;
    f64[from / 8 + 1] = penalty.episodeUntil;
    i32[from / 4 + 4] = penalty.bannedUntil;
    i32[from / 4 + 5] = penalty.banLevel;
    i32[from / 4 + 6] = start;
    i32[from / 4 + 7] = Math.min(penalty.strikes.length, this.#capacity);
    this.#copies.commit(record, id);
  }

  /** Which state of the record counts, for `lift`; 0 when it was never written. */
  sequence(record: number): number {
    return this.#copies.sequence(record);
  }

  /** From now on this state of the record is none; another one that came meanwhile stays. */
  lift(record: number, sequence: number): void {
    Atomics.store(this.#file.i32, record / 4 + liftedWord, sequence);
    this.#file.changed();
  }

  /**
   * Puts strikes into the ring and returns where they begin. Those that were there already stay where they are, and a new
   * one comes behind them, where the copy that still counts has none or one that is older.
   */
  #placeStrikes(record: number, id: number, before: KeyPenalty, { strikes }: KeyPenalty): number {
    const { i32, f64 } = this.#file;
    const kept = strikes.slice(-this.#capacity);
    const from = before.strikes.length === 0 ? undefined : this.#copies.current(record, id);
    const old = from === undefined ? 0 : (i32[from / 4 + 6] as number);
    const skipped = kept.length === 0 ? -1 : before.strikes.indexOf(kept[0] as number);
    const start = skipped === -1 ? old : (old + skipped) % this.#capacity;
    for (const [index, at] of kept.entries()) {
      const place = this.#place(record, start + index);
      if (f64[place] !== at) f64[place] = at;
    }
    return start;
  }

  #strikes(record: number, start: number, count: number): number[] {
    const strikes: number[] = [];
    for (let index = 0; index < count; index++) {
      strikes.push(this.#file.f64[this.#place(record, start + index)] as number);
    }
    return strikes;
  }

  /** Which 64-bit word of the file is a place in the ring. */
  #place(record: number, index: number): number {
    return (record + ringByte) / 8 + (index % this.#capacity);
  }
}

/** What a key whose record cannot be read did, as far as is known: all that there is a longest ban for. */
export function longestBan({ firstBanSeconds, longestBanSeconds }: BanRules, nowMs: number): KeyPenalty {
  const banLevel = Math.max(0, Math.ceil(Math.log2(longestBanSeconds / firstBanSeconds)));
  return { ...noPenalty, bannedUntil: Math.floor(nowMs / 1_000) + longestBanSeconds, banLevel };
}
