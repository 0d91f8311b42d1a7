import type { TableRow, Tables, TableValue } from '../storage.ts';
import { columnsOf, type TableName, tableNames } from '../tables.ts';
import { PostgresDatabase, type PostgresOptions } from './database.ts';
import { conflictOf } from './failures.ts';

/** Opens the database as rows. Throws `StorageUnusable`. */
export async function openPostgresTables(options: PostgresOptions, mustExist: boolean): Promise<Tables> {
  await using opened = new AsyncDisposableStack();
  const database = opened.use(new PostgresDatabase(options));
  await database.migrate(!mustExist);
  const kept = opened.move();
  return {
    tables: tableNames,
    async count(table) {
      const [row] = await database.read<{ count: bigint }[]>((sql) =>
        sql.unsafe(`SELECT count(*) AS count FROM ${table}`),
      );
      return Number(row?.count ?? 0n);
    },
    async rows(table, after, limit) {
      const where = after === undefined ? '' : `WHERE ${keyOf(table)} > $2`;
      const text = `SELECT ${selected(table)} FROM ${table} ${where} ORDER BY ${keyOf(table)} LIMIT $1`;
      const values = after === undefined ? [limit] : [limit, after];
      const rows = await database.read<TableRow[]>((sql) => sql.unsafe(text, values).values());
      return [...rows];
    },
    async add(table, rows) {
      const text = insertText(table);
      try {
        await database.write((sql) => sql.unsafe(text, [JSON.stringify(rows.map(textual))]));
      } catch (error) {
        const conflict = conflictOf(error);
        if (conflict === undefined) throw error;
        return conflict;
      }
      return undefined;
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** The table's key, ordered byte by byte as SQLite orders it. */
function keyOf(table: TableName): string {
  const [key] = columnsOf(table);
  return key?.isText ? `${key.name} COLLATE "C"` : (key?.name ?? '');
}

function selected(table: TableName): string {
  return columnsOf(table)
    .map(({ name }) => (name === 'finished' ? 'finished::integer::bigint AS finished' : name))
    .join(', ');
}

/** Adds rows given as one JSON text, and raises the counter of ids beyond them, in one statement. */
function insertText(table: TableName): string {
  const columns = columnsOf(table);
  const names = columns.map(({ name }) => name).join(', ');
  const values = columns.map(({ name, isText }, index) => {
    if (name === 'finished') return `(value->>${index})::integer::boolean`;
    return isText ? `value->>${index}` : `(value->>${index})::bigint`;
  });
  const insert = `
    INSERT INTO ${table} (${names})
    SELECT ${values.join(', ')} FROM json_array_elements($1::text::json) AS moved (value)`;
  // Keys that are text count nothing.
  if (columns[0]?.isText) return insert;
  return `
    WITH added AS (${insert} RETURNING id)
    UPDATE counters SET
      last = greatest(last, (SELECT max(id) FROM added)),
      version = greatest(version + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
    WHERE name = '${table}'`;
}

/** Integers as text, for JSON of JavaScript would round them. */
function textual(row: TableRow): (string | null)[] {
  return row.map((value: TableValue) => (value === null ? null : String(value)));
}
