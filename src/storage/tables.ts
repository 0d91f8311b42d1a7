/** Everything that is moved when a store moves: tables and columns, alike in every engine, the key first. */
const columns = {
  accounts: ['id', 'name', 'plan', 'per_minute', 'per_day', 'created_at'],
  keys: [
    'id',
    'account_id',
    'name',
    'fingerprint',
    'last_four',
    'created_at',
    'expires_at',
    'revoked_at',
    'successor_id',
  ],
  imports: ['source', 'last_line', 'added', 'rejected', 'finished'],
  pets: ['id', 'name', 'category_id', 'status'],
} as const;

/** In an order in which no table refers to a later one. */
export const tableNames = Object.keys(columns) as readonly TableName[];

export type TableName = keyof typeof columns;

const textColumns: ReadonlySet<string> = new Set([
  'name',
  'plan',
  'fingerprint',
  'last_four',
  'source',
  'status',
]);

export interface TableColumn {
  readonly name: string;
  readonly isText: boolean;
}

export function columnsOf(table: TableName): TableColumn[] {
  return columns[table].map((name) => ({ name, isText: textColumns.has(name) }));
}
