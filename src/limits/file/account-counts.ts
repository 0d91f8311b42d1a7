import { maxQuota } from '../../domain/plan.ts';
import { noUsage, type Usage } from '../limit.ts';
import { DoubleBufferedRecord } from './double-buffered-record.ts';
import { limitTables } from './layout.ts';
import type { LimitFile } from './limit-file.ts';
import { LimitTable } from './table.ts';

/** Size of a record. The first word is a lock; two copies of the account's usage follow. */
const recordBytes = 64;
/** A copy contains both counts as 64-bit numbers, and the time in seconds at which each window opened. */
const copies = { sequenceWord: 1, copiesOffset: 8, copyBytes: 24, checksumsWord: 14 };

export class AccountUsageTable {
  readonly #file: LimitFile;
  readonly #copies: DoubleBufferedRecord;
  readonly table: LimitTable;

  constructor(file: LimitFile) {
    this.#file = file;
    this.#copies = new DoubleBufferedRecord(file, copies);
    this.table = new LimitTable(file, limitTables.accounts, recordBytes);
  }

  isWritten(record: number): boolean {
    return this.#copies.sequence(record) !== 0;
  }

  /** Returns the usage in a record: zero if the record was never written, undefined if both copies are damaged. */
  read(record: number, id: number): Usage | undefined {
    if (record === 0 || !this.isWritten(record)) return this.#unwritten();
    const from = this.#copies.current(record, id);
    if (from === undefined) return undefined;
    const { i32, f64 } = this.#file;
    return {
      minute: { openedAt: (i32[from / 4 + 4] as number) >>> 0, count: f64[from / 8] as number },
      day: { openedAt: (i32[from / 4 + 5] as number) >>> 0, count: f64[from / 8 + 1] as number },
    };
  }

  write(record: number, id: number, { minute, day }: Usage): void {
    const { i32, f64 } = this.#file;
    const from = this.#copies.next(record);
    f64[from / 8] = minute.count;
    f64[from / 8 + 1] = day.count;
    i32[from / 4 + 4] = minute.openedAt;
    i32[from / 4 + 5] = day.openedAt;
    this.#copies.commit(record, id);
  }

  #unwritten(): Usage {
    const { strictSince } = this.#file;
    return strictSince === 0 ? noUsage : exhaustedUsage(strictSince);
  }
}

/** Replaces unknown usage with two exhausted windows that open at this second. */
export function exhaustedUsage(openedAt: number): Usage {
  return { minute: { openedAt, count: maxQuota }, day: { openedAt, count: maxQuota } };
}
