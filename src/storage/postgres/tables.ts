import { StoreUnusableError } from '../../outages/errors.ts';
import { sqlColumns, sqlKeyColumns } from '../../tables/sql.ts';
import type { SqlType, Table } from '../../tables/table.ts';
import type { StoreContents, TableRow, Tables, TableValue } from '../storage.ts';
import { unfinishedCopyError } from '../store-errors.ts';
import { PostgresDatabase, type PostgresOptions } from './database.ts';
import { numberEvents } from './entities/events.ts';
import { toRowConflict } from './failures.ts';
import { newestFormat } from './migration-steps.ts';
import { incrementVersionSql, readState } from './versions.ts';

/** Opens a database for copying its rows. Throws `StoreUnusableError`. */
export async function openPostgresTables(options: PostgresOptions, mustExist: boolean): Promise<Tables> {
  await using opened = new AsyncDisposableStack();
  const database = opened.use(new PostgresDatabase(options));
  await database.migrate(!mustExist, false);
  if (mustExist) await expectFinished(database);
  while (await numberEvents({ run: (statement) => database.read(statement) }));
  const resources = opened.move();
  return {
    now: async () => (await readState({ run: (statement) => database.read(statement) })).now,
    async count(table) {
      const [row] = await database.read<{ count: bigint }[]>((sql) =>
        sql.unsafe(`SELECT count(*) AS count FROM ${rowsOf(table)}`),
      );
      return Number(row?.count ?? 0n);
    },
    async rows(table, after, limit) {
      const key = keyOf(table);
      const places = key.map((_, index) => `$${index + 2}`);
      const where = after === undefined ? '' : `WHERE (${key}) > (${places})`;
      const text = `SELECT ${selected(table)} FROM ${rowsOf(table)} ${where} ORDER BY ${key} LIMIT $1`;
      const values = [limit, ...(after?.slice(0, key.length) ?? [])];
      const rows = await database.read<TableRow[]>((sql) => sql.unsafe(text, values).values());
      return [...rows];
    },
    async add(table, rows) {
      const values = JSON.stringify(rows.map(textual));
      try {
        if (table.name === 'counters') await addCounters(database, values, rows.length);
        else await database.write((sql) => sql.unsafe(insertText(table), [values]));
      } catch (error) {
        const conflict = error === counterIsTaken ? 'taken' : toRowConflict(error);
        if (conflict === undefined) throw error;
        return conflict;
      }
      return undefined;
    },
    async setUnfinished(isUnfinished) {
      await database.write((sql) => sql`UPDATE store SET is_unfinished_copy = ${isUnfinished}`);
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

async function expectFinished(database: PostgresDatabase): Promise<void> {
  const unfinished = await database.read<unknown[]>(
    (sql) => sql`SELECT 1 FROM store WHERE is_unfinished_copy`,
  );
  if (unfinished.length > 0) throw unfinishedCopyError('The database', 'copy another store');
}

/** Omits unused counters, because a new store already has a row for each counter. */
function rowsOf(table: Table): string {
  return table.name === 'counters'
    ? '(SELECT name, last FROM counters WHERE last > 0) AS counters'
    : table.name;
}

/** Returns a table's key columns. Text is ordered by bytes, as in SQLite. */
function keyOf(table: Table): string[] {
  return sqlKeyColumns(table).map(({ name, type }) => (type === 'text' ? `${name} COLLATE "C"` : name));
}

/** SQL expressions that read a column, and that convert text from JSON to the column's type. */
const forms: Readonly<Record<SqlType, { read: (name: string) => string; write: (text: string) => string }>> =
  {
    integer: { read: (name) => name, write: (text) => `(${text})::bigint` },
    text: { read: (name) => name, write: (text) => text },
    boolean: {
      read: (name) => `${name}::integer::bigint AS ${name}`,
      write: (text) => `(${text})::integer::boolean`,
    },
  };

function selected(table: Table): string {
  return sqlColumns(table)
    .map(({ name, type }) => forms[type].read(name))
    .join(', ');
}

/** Inserts rows from one JSON parameter and raises the version of their resource, in one statement. */
function insertText(table: Table): string {
  const columns = sqlColumns(table);
  const names = columns.map(({ name }) => name).join(', ');
  const values = columns.map(({ type }, index) => forms[type].write(`value->>${index}`));
  return `
    WITH added AS (
      INSERT INTO ${table.name} (${names})
      SELECT ${values.join(', ')} FROM json_array_elements($1::text::json) AS moved (value)
    )
    UPDATE counters SET ${incrementVersionSql} WHERE name = '${table.name}'`;
}

const counterIsTaken = new Error('A counter is already in use.');

/** Sets the counters to the values of another store. Changes nothing if any of these counters is already in use. */
async function addCounters(database: PostgresDatabase, values: string, count: number): Promise<void> {
  await database.transact(async (execute) => {
    const set = await execute<unknown[]>((sql) =>
      sql.unsafe(
        `UPDATE counters SET last = (value->>1)::bigint, ${incrementVersionSql}
         FROM json_array_elements($1::text::json) AS moved (value)
         WHERE name = value->>0 AND last = 0 RETURNING name`,
        [values],
      ),
    );
    if (set.length < count) throw counterIsTaken;
  }, performance.now() + database.statementTimeoutMs);
}

/** Converts integers to text, because JavaScript would round them in JSON. */
function textual(row: TableRow): (string | null)[] {
  return row.map((value: TableValue) => (value === null ? null : String(value)));
}

/** Counts the rows of a database without changing it, even if its format is older. Throws `StoreUnusableError`. */
export async function readPostgresContents(options: PostgresOptions): Promise<StoreContents> {
  await using database = new PostgresDatabase(options);
  const tables = await database.read<{ name: string }[]>(
    (sql) => sql`
      SELECT table_name::text AS name FROM information_schema.tables
      WHERE table_schema = current_schema() AND table_type = 'BASE TABLE' ORDER BY table_name`,
  );
  const names = tables.map(({ name }) => name);
  if (!names.includes('animal_store_format')) {
    throw new StoreUnusableError(
      'No store found in this PostgreSQL database and schema. Check DATABASE_URL.',
    );
  }
  const [row] = await database.read<{ version: number }[]>(
    (sql) => sql`SELECT version FROM animal_store_format`,
  );
  const counts: Record<string, number> = {};
  for (const name of names) {
    const [counted] = await database.read<{ count: bigint }[]>((sql) =>
      sql.unsafe(`SELECT count(*) AS count FROM "${name.replaceAll('"', '""')}"`),
    );
    counts[name] = Number(counted?.count);
  }
  return { format: Number(row?.version), newestFormat, counts, bytes: null };
}
