/** The migrated schema, as reported by each engine. */
import { Database } from 'bun:sqlite';
import type { SQL } from 'bun';

export interface Table {
  /** `integer`, `text` or `boolean`, by column. Undefined for columns of views. */
  readonly columns: Readonly<Record<string, string | undefined>>;
  /** The columns of the primary key. */
  readonly key: readonly string[];
  /** Nullable columns. Unknown for views. */
  readonly nullable: readonly string[];
}

/** Tables by name. */
export type Schema = Readonly<Record<string, Table>>;

/** A column that contains the ids of another table's rows. */
export interface Reference {
  readonly table: string;
  readonly column: string;
  readonly to: string;
}

const types: Readonly<Record<string, string>> = {
  INTEGER: 'integer',
  TEXT: 'text',
  bigint: 'integer',
  integer: 'integer',
  text: 'text',
  boolean: 'boolean',
};

interface ColumnRow {
  readonly table: string;
  readonly column: string;
  readonly type: string;
  /** Position of the column in the primary key, from 1. 0 if it is not in the key. */
  readonly keyPlace: number;
  readonly isNullable: boolean | bigint | number;
}

function schemaOf(rows: readonly ColumnRow[]): Schema {
  const tables = Object.groupBy(rows, ({ table }) => table);
  return Object.fromEntries(
    Object.entries(tables).map(([name, columns = []]) => {
      const key = columns.filter(({ keyPlace }) => keyPlace > 0).sort((a, b) => a.keyPlace - b.keyPlace);
      return [
        name,
        {
          columns: Object.fromEntries(columns.map(({ column, type }) => [column, types[type]])),
          key: key.map(({ column }) => column),
          nullable: columns
            .filter(({ isNullable, keyPlace }) => Boolean(isNullable) && keyPlace === 0)
            .map(({ column }) => column),
        },
      ];
    }),
  );
}

export function sqliteSchema(path: string): Schema {
  using database = new Database(path, { readonly: true });
  return schemaOf(
    database
      .query<ColumnRow, []>(`
        SELECT list.name AS "table", info.name AS "column", info.type, info.pk AS keyPlace,
               NOT info."notnull" AS isNullable
        FROM pragma_table_list AS list JOIN pragma_table_xinfo(list.name) AS info
        WHERE list.schema = 'main' AND list.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`)
      .all(),
  );
}

export async function postgresSchema(session: SQL): Promise<Schema> {
  const rows: ColumnRow[] = await session`
    SELECT table_name AS "table", column_name AS "column", data_type AS "type",
           coalesce(array_position(indkey::smallint[], ordinal_position::smallint) + 1, 0)::integer AS "keyPlace",
           is_nullable = 'YES' AS "isNullable"
    FROM information_schema.columns
    LEFT JOIN pg_index ON indrelid = (quote_ident(table_schema) || '.' || quote_ident(table_name))::regclass AND indisprimary
    WHERE table_schema = current_schema() ORDER BY table_name, ordinal_position`;
  return schemaOf(rows);
}

/** Columns whose names do not show which table they refer to. */
const otherNames: Readonly<Record<string, string>> = { successor_id: 'keys' };

/** References to other tables, for example from `pet_id` to `pets`. Throws if such a column refers to no table. */
export function referencesIn(schema: Schema): Reference[] {
  return Object.entries(schema).flatMap(([table, { columns }]) =>
    Object.keys(columns)
      .filter((column) => column.endsWith('_id'))
      .map((column) => {
        const noun = column.slice(0, -'_id'.length);
        const names = [otherNames[column], `${noun}s`, noun.replace(/y$/, 'ies')];
        const to = names.find((name) => name !== undefined && name in schema);
        if (to !== undefined) return { table, column, to };
        throw new Error(
          `${table}.${column} refers to no table. Name it in otherNames of ${import.meta.file}.`,
        );
      }),
  );
}

/** Throws an error with `what` and the places, unless `places` is empty. */
export function demand(what: string, places: readonly string[]): void {
  if (places.length > 0) throw new Error(`${what}\n${[...new Set(places)].join('\n')}`);
}
