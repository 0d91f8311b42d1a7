import type { Clock } from '../../domain/clock.ts';
import { type BanRules, capBan, type KeyPenalty, noPenalty } from '../limit.ts';
import type { Ban } from '../limit-store.ts';
import { DoubleBufferedRecord } from './double-buffered-record.ts';
import { limitTables } from './layout.ts';
import type { LimitFile } from './limit-file.ts';
import { LimitTable } from './table.ts';

/** A record contains two copies of a penalty, the sequence number of the lifted penalty, and a ring of strike times. */
const liftedWord = 1;
/**
 * A copy contains the start and end of the episode, the end and level of the ban, the position of the first strike in
 * the ring, and the number of strikes.
 */
const copies = { sequenceWord: 0, copiesOffset: 8, copyBytes: 32, checksumsWord: 18 };
const ringByte = 80;
const strikeBytes = 8;

/** Changes require the lock of the key's account. Lifting a ban requires no lock, because it writes a single word. */
export class KeyPenaltyTable {
  readonly #file: LimitFile;
  readonly #copies: DoubleBufferedRecord;
  readonly #capacity: number;
  readonly table: LimitTable;

  constructor(file: LimitFile, strikes = file.strikes) {
    this.#file = file;
    this.#copies = new DoubleBufferedRecord(file, copies);
    this.#capacity = strikes;
    this.table = new LimitTable(file, limitTables.keys, ringByte + strikes * strikeBytes);
  }

  /** Returns undefined if both copies in the record are damaged. */
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

  /** The sequence number of the record's current state, for `lift`; 0 if the record was never written. */
  sequence(record: number): number {
    return this.#copies.sequence(record);
  }

  /** Lifts the ban that was written with this sequence number, but not a later ban. */
  lift(record: number, sequence: number): void {
    Atomics.store(this.#file.i32, record / 4 + liftedWord, sequence);
    this.#file.changed();
  }

  /**
   * Writes strikes into the ring and returns the position of the first strike. Strikes that are already in the ring
   * keep their positions. New strikes follow, in slots that are free or contain only older strikes.
   */
  #placeStrikes(record: number, id: number, before: KeyPenalty, { strikes }: KeyPenalty): number {
    const { i32, f64 } = this.#file;
    const latestStrikes = strikes.slice(-this.#capacity);
    const from = before.strikes.length === 0 ? undefined : this.#copies.current(record, id);
    const old = from === undefined ? 0 : (i32[from / 4 + 6] as number);
    const skipped = latestStrikes.length === 0 ? -1 : before.strikes.indexOf(latestStrikes[0] as number);
    const start = skipped === -1 ? old : (old + skipped) % this.#capacity;
    for (const [index, at] of latestStrikes.entries()) {
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

  #place(record: number, index: number): number {
    return (record + ringByte) / 8 + (index % this.#capacity);
  }
}

/** The penalty of a key whose record is damaged: the longest ban. */
export function longestBan({ firstBanSeconds, longestBanSeconds }: BanRules, nowMs: number): KeyPenalty {
  const banLevel = Math.max(0, Math.ceil(Math.log2(longestBanSeconds / firstBanSeconds)));
  return { ...noPenalty, bannedUntil: Math.floor(nowMs / 1_000) + longestBanSeconds, banLevel };
}

/** Returns the current bans and the times when they end. Requires no lock. */
export function listBans(keys: KeyPenaltyTable, clock: Clock, rules: BanRules): Ban[] {
  const bans: Ban[] = [];
  const nowMs = clock.steady();
  keys.table.each((record, keyId) => {
    const ban = readBan(keys, record, keyId, rules, nowMs);
    if (ban !== undefined) bans.push({ ...ban, bannedUntil: ban.bannedUntil + clock.aheadSeconds });
  });
  return bans;
}

/** Lifts a ban, with effect from the key's next request. Returns false if there is no ban. Requires no lock. */
export function liftBan(keys: KeyPenaltyTable, keyId: number, clock: Clock, rules: BanRules): boolean {
  const record = keys.table.find(keyId);
  if (record === 0) return false;
  const sequence = keys.sequence(record);
  if (readBan(keys, record, keyId, rules, clock.steady()) === undefined) return false;
  keys.lift(record, sequence);
  return true;
}

function readBan(
  keys: KeyPenaltyTable,
  record: number,
  keyId: number,
  rules: BanRules,
  nowMs: number,
): Ban | undefined {
  if (keys.sequence(record) === 0) return undefined;
  const penalty = keys.read(record, keyId);
  if (penalty === undefined || nowMs >= penalty.bannedUntil * 1_000) return undefined;
  const { bannedUntil, banLevel: level } = penalty;
  return { keyId, bannedUntil: capBan(bannedUntil, level, rules, nowMs), level };
}
