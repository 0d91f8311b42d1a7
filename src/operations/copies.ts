import { createHash } from 'node:crypto';
import type { TableRow, Tables } from '../storage/storage.ts';
import { sqlColumns } from '../tables/sql.ts';
import type { Table } from '../tables/table.ts';
import { copiedTables } from '../tables/tables.ts';
import { instances } from '../tables/usage.ts';

const batchLength = 1_000;

/** The copy cannot continue. `message` states the reason and the remedy. */
export class CopyError extends Error {}

const sourceWritten =
  'The source changed during the copy. Stop everything that writes to it, then copy again into an empty database.';
const targetWritten =
  'The target changed during the copy. Stop the service that uses it, then copy again into an empty database.';

const conflictReasons = {
  taken: `in the target contains rows that are not from this copy. ${targetWritten}`,
  missing: `in the source refers to rows that were not copied. ${sourceWritten}`,
} as const;

const maxInstances = 100;
/** Instances send a heartbeat every 10 s. */
const servingWithinMs = 60_000;

/** Names of the instances that are running: not stopped, and with a recent heartbeat. `nowMs` is Unix ms. */
export async function listRunningInstances(from: Tables, nowMs: number): Promise<string[]> {
  const seenAt = sqlColumns(instances).findIndex(({ name }) => name === 'seen_at');
  const rows = await from.rows(instances, undefined, maxInstances);
  return rows
    .filter((row) => Math.abs(nowMs - Number(row[seenAt])) < servingWithinMs)
    .map(([name]) => String(name));
}

/** Checksum of a table: SHA-256 of its rows in ascending key order. */
export interface Checksum {
  readonly count: number;
  readonly sha256: string;
}

/**
 * Copies a store to another engine row by row, keeping all ids. Rows are copied in ascending key order, so an
 * interrupted copy is a prefix of the source and can be resumed.
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

  /** Copies the missing rows and yields the number of rows copied so far. Throws `CopyError`. */
  async *copy(): AsyncGenerator<number> {
    this.#copied.clear();
    // Compares existing rows first, so that no rows are added to a store that contains other data.
    const lastRows = new Map<Table, TableRow | undefined>();
    let done = 0;
    for (const table of copiedTables) {
      const { last, count } = await this.#beginning(table);
      lastRows.set(table, last);
      done += count;
      yield done;
    }
    await this.#to.setUnfinished(true);
    for (const table of copiedTables) {
      for await (const rows of batches(this.#from, table, lastRows.get(table))) {
        await this.#add(table, rows);
        done += rows.length;
        yield done;
      }
    }
  }

  /**
   * Compares both stores batch by batch, and yields the number of rows compared so far. Throws a `CopyError` that names
   * the first difference. Only a verified copy can be served.
   */
  async *verify(): AsyncGenerator<number, Record<string, Checksum>> {
    const checksums: Record<string, Checksum> = {};
    let done = 0;
    for (const table of copiedTables) {
      const [source, copy] = [new Checksums(), new Checksums()];
      let difference: string | undefined;
      for await (const [read, copied] of zip(batches(this.#from, table), batches(this.#to, table))) {
        difference ??= findFirstDifference(table, source.add(read), copy.add(copied));
        done += read.length;
        yield done;
      }
      if (difference !== undefined) {
        const [sourceChecksum, targetChecksum] = [source.checksum(), copy.checksum()];
        throw new CopyError(
          `Table "${table.name}" differs, first at ${difference}: ${sourceChecksum.count} rows in the source, ` +
            `${targetChecksum.count} in the target. ${this.#whoWrote(table, sourceChecksum, targetChecksum)}`,
        );
      }
      checksums[table.name] = source.checksum();
    }
    await this.#to.setUnfinished(false);
    return checksums;
  }

  async #add(table: Table, rows: TableRow[]): Promise<void> {
    const conflict = await this.#to.add(table, rows);
    if (conflict !== undefined) throw new CopyError(`Table "${table.name}" ${conflictReasons[conflict]}`);
    this.#read(table, rows);
  }

  #read(table: Table, rows: readonly TableRow[]): void {
    const sums = this.#copied.get(table) ?? new Checksums();
    sums.add(rows);
    this.#copied.set(table, sums);
  }

  #whoWrote(table: Table, source: Checksum, copy: Checksum): string {
    const { sha256 } = (this.#copied.get(table) ?? new Checksums()).checksum();
    const [isSource, isTarget] = [source.sha256 !== sha256, copy.sha256 !== sha256];
    return [isSource ? sourceWritten : [], isTarget ? targetWritten : []].flat().join(' ');
  }

  /** Reads the existing rows of a target table, which must be a prefix of the source table. */
  async #beginning(table: Table): Promise<{ last: TableRow | undefined; count: number }> {
    let last: TableRow | undefined;
    let count = 0;
    for await (const rows of batches(this.#to, table)) {
      const same = await this.#from.rows(table, last, rows.length);
      if (formatRows(rows) !== formatRows(same)) {
        throw new CopyError(
          `The target already contains other data: its table "${table.name}" does not match the source. ` +
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

  /** Adds rows to the checksum. Returns the text that is hashed. */
  add(rows: readonly TableRow[]): string {
    const text = formatRows(rows);
    this.#hash.update(text);
    this.#count += rows.length;
    return text;
  }

  checksum(): Checksum {
    return { count: this.#count, sha256: this.#hash.copy().digest('hex') };
  }
}

/** Yields pairs of batches, one from each side, until both sides are exhausted. */
async function* zip(
  one: AsyncGenerator<TableRow[]>,
  other: AsyncGenerator<TableRow[]>,
): AsyncGenerator<[TableRow[], TableRow[]]> {
  for (;;) {
    const [first, second] = await Promise.all([one.next(), other.next()]);
    if (first.done === true && second.done === true) return;
    yield [first.value ?? [], second.value ?? []];
  }
}

/** The key of the first row that differs, such as `id 7`. Both arguments contain rows as text. */
function findFirstDifference({ key }: Table, source: string, copy: string): string | undefined {
  if (source === copy) return undefined;
  const [rows, copied] = [source.split('\n'), copy.split('\n')];
  const at = rows.findIndex((row, index) => row !== copied[index]);
  const values = JSON.parse(rows[at] || copied[at] || '[]') as unknown[];
  return key.map((name, index) => `${name} ${values[index]}`).join(', ');
}

/** The rows as text, one per line, in a form that is identical on every engine. */
function formatRows(rows: readonly TableRow[]): string {
  const plain = (_key: string, value: unknown) => (typeof value === 'bigint' ? `${value}` : value);
  return rows.map((row) => `${JSON.stringify(row, plain)}\n`).join('');
}
