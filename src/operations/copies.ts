import { createHash } from 'node:crypto';
import type { TableRow, Tables } from '../storage/storage.ts';
import type { Table } from '../tables/table.ts';
import { copiedTables } from '../tables/tables.ts';

const batchLength = 1_000;

/** The copy cannot go on; `message` says why and what to do. */
export class CopyError extends Error {}

const sourceWritten =
  'The source changed during the copy. Stop everything that writes to it, then copy again.';
const targetWritten =
  'The target changed during the copy. Stop the service that uses it, then copy again into an empty database.';

/** What a table holds: SHA-256 over its rows by ascending key. */
export interface Checksum {
  readonly count: number;
  readonly sha256: string;
}

/**
 * Moves a store to another engine, row for row, with all ids. Rows go by ascending key, so a copy that was broken
 * off is a beginning of the whole: it is known by that, and gone on with.
 */
export class CopyOperations {
  readonly #from: Tables;
  readonly #to: Tables;
  readonly #copied = new Map<Table, Checksums>();

  constructor(from: Tables, to: Tables) {
    this.#from = from;
    this.#to = to;
  }

  async count(): Promise<number> {
    const counts = await Promise.all(copiedTables.map((table) => this.#from.count(table)));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Copies what is not there yet; yields how many rows are there so far. Throws `CopyError`. */
  async *copy(): AsyncGenerator<number> {
    this.#copied.clear();
    // First all that is there, so that nothing is added to a store that holds something else.
    const there = new Map<Table, TableRow | undefined>();
    let done = 0;
    for (const table of copiedTables) {
      const { last, count } = await this.#beginning(table);
      there.set(table, last);
      done += count;
      yield done;
    }
    for (const table of copiedTables) {
      for await (const rows of batches(this.#from, table, there.get(table))) {
        await this.#add(table, rows);
        done += rows.length;
        yield done;
      }
    }
  }

  /** Reads both sides whole and compares them; yields how many rows are compared so far. Throws `CopyError`. */
  async *verify(): AsyncGenerator<number, Record<string, Checksum>> {
    const checksums: Record<string, Checksum> = {};
    let done = 0;
    for (const table of copiedTables) {
      const sums = await Promise.all([checksumOf(this.#from, table), checksumOf(this.#to, table)]);
      const [source, copy] = sums;
      if (!isSame(source, copy)) {
        throw new CopyError(
          `Table "${table.name}" differs: ${source.count} rows in the source, ${copy.count} in the target. ` +
            this.#whoWrote(table, source, copy),
        );
      }
      checksums[table.name] = source;
      done += source.count;
      yield done;
    }
    return checksums;
  }

  async #add(table: Table, rows: TableRow[]): Promise<void> {
    const conflict = await this.#to.add(table, rows);
    if (conflict === 'taken') {
      throw new CopyError(
        `Table "${table.name}" of the target contains rows that are not from this copy. ${targetWritten}`,
      );
    }
    if (conflict === 'missing') {
      throw new CopyError(
        `Table "${table.name}" of the source refers to rows that were not copied. ${sourceWritten}`,
      );
    }
    this.#read(table, rows);
  }

  #read(table: Table, rows: readonly TableRow[]): void {
    const sums = this.#copied.get(table) ?? new Checksums();
    sums.add(rows);
    this.#copied.set(table, sums);
  }

  #whoWrote(table: Table, source: Checksum, copy: Checksum): string {
    const copied = (this.#copied.get(table) ?? new Checksums()).checksum();
    const [isSource, isTarget] = [!isSame(source, copied), !isSame(copy, copied)];
    return [isSource ? sourceWritten : [], isTarget ? targetWritten : []].flat().join(' ');
  }

  /** What of a table is there already; it has to be the beginning of the source's. */
  async #beginning(table: Table): Promise<{ last: TableRow | undefined; count: number }> {
    let last: TableRow | undefined;
    let count = 0;
    for await (const rows of batches(this.#to, table)) {
      const same = await this.#from.rows(table, last, rows.length);
      if (lineOf(rows) !== lineOf(same)) {
        throw new CopyError(
          `The target already contains other data: its table "${table}" does not match the source. ` +
            'Use an empty database, or one with an interrupted copy of this source.',
        );
      }
      this.#read(table, rows);
      last = rows.at(-1);
      count += rows.length;
    }
    return { last, count };
  }
}

async function* batches(source: Tables, table: Table, behind?: TableRow): AsyncGenerator<TableRow[]> {
  let last = behind;
  for (;;) {
    const rows = await source.rows(table, last, batchLength);
    if (rows.length === 0) return;
    yield rows;
    last = rows.at(-1);
  }
}

class Checksums {
  readonly #hash = createHash('sha256');
  #count = 0;

  add(rows: readonly TableRow[]): void {
    this.#hash.update(lineOf(rows));
    this.#count += rows.length;
  }

  checksum(): Checksum {
    return { count: this.#count, sha256: this.#hash.copy().digest('hex') };
  }
}

async function checksumOf(source: Tables, table: Table): Promise<Checksum> {
  const sums = new Checksums();
  for await (const rows of batches(source, table)) sums.add(rows);
  return sums.checksum();
}

function isSame(one: Checksum, other: Checksum): boolean {
  return one.count === other.count && one.sha256 === other.sha256;
}

/** Rows as text, a line each, alike for every engine. */
function lineOf(rows: readonly TableRow[]): string {
  const plain = (_key: string, value: unknown) => (typeof value === 'bigint' ? `${value}` : value);
  return rows.map((row) => `${JSON.stringify(row, plain)}\n`).join('');
}
