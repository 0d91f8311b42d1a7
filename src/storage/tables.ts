/** How a value is stored. A boolean is 0 or 1 in a row. */
export type ColumnType = 'integer' | 'text' | 'boolean';

/** What is kept of a key's requests in an hour or a day. */
const keyUsage = {
  key_id: 'integer',
  account_id: 'integer',
  ok: 'integer',
  refused: 'integer',
  limited: 'integer',
  failed: 'integer',
  deprecated: 'integer',
  last_used_at: 'integer',
} as const;

/**
 * Everything that is moved when a store moves, alike in every engine: the columns of each table with their types, the key
 * first. In an order in which no table refers to a later one. How many animals there are in each status is counted anew with
 * the animals; sessions end with the move, and instances tell of themselves anew.
 */
const tables = {
  // The highest id each table gave out, of those that gave one: first, so that no id of a row that is gone comes again.
  counters: { name: 'text', last: 'integer' },
  accounts: {
    id: 'integer',
    name: 'text',
    plan: 'text',
    per_minute: 'integer',
    per_day: 'integer',
    created_at: 'integer',
    name_folded: 'text',
    closed_at: 'integer',
  },
  keys: {
    id: 'integer',
    account_id: 'integer',
    name: 'text',
    fingerprint: 'text',
    last_four: 'text',
    scopes: 'text',
    created_at: 'integer',
    expires_at: 'integer',
    revoked_at: 'integer',
    successor_id: 'integer',
  },
  imports: {
    source: 'text',
    last_line: 'integer',
    added: 'integer',
    rejected: 'integer',
    finished: 'boolean',
  },
  pets: { id: 'integer', name: 'text', category_id: 'integer', status: 'text' },
  categories: { id: 'integer', name: 'text' },
  orders: {
    id: 'integer',
    pet_id: 'integer',
    status: 'text',
    reference: 'text',
    created_at: 'integer',
    updated_at: 'integer',
  },
  idempotent_answers: {
    id: 'text',
    request: 'text',
    status: 'integer',
    body: 'text',
    location: 'text',
    kept_at: 'integer',
  },
  operators: {
    id: 'integer',
    name: 'text',
    role: 'text',
    fingerprint: 'text',
    last_four: 'text',
    created_at: 'integer',
    revoked_at: 'integer',
  },
  audit: {
    id: 'integer',
    at: 'integer',
    actor: 'text',
    operation: 'text',
    object: 'text',
    before: 'text',
    after: 'text',
  },
  usage_minutes: { minute: 'integer', operation: 'text', code: 'text', requests: 'integer' },
  usage_hours: { hour: 'integer', ...keyUsage },
  usage_days: { day: 'integer', ...keyUsage },
} as const satisfies Record<string, Readonly<Record<string, ColumnType>>>;

export type TableName = keyof typeof tables;

export const tableNames = Object.keys(tables) as readonly TableName[];

export interface TableColumn {
  readonly name: string;
  readonly type: ColumnType;
}

/** The columns of a table, those of its key first. */
export function columnsOf(table: TableName): TableColumn[] {
  return Object.entries(tables[table]).map(([name, type]) => ({ name, type }));
}

/** Keys of more than one column: of how many. */
const keyLengths: Partial<Record<TableName, number>> = { usage_minutes: 3, usage_hours: 2, usage_days: 2 };

/** The columns of a table's key. */
export function keyColumnsOf(table: TableName): TableColumn[] {
  return columnsOf(table).slice(0, keyLengths[table] ?? 1);
}
