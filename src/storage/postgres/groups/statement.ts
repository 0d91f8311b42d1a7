import { resources } from '../../../domain/resources.ts';
import { categories } from '../../../tables/categories.ts';
import { imports } from '../../../tables/imports.ts';
import { audit } from '../../../tables/operators.ts';
import { lookupCondition, sqlColumns, sqlKeyColumns } from '../../../tables/sql.ts';
import { storedResponses } from '../../../tables/stored-responses.ts';
import type { Table } from '../../../tables/table.ts';
import { responseRemovalBatch } from '../../response-row.ts';
import { casts } from '../entities/entity.ts';
import { incrementVersionSql, versionCounter } from '../versions.ts';

/** A group's changes to one table. */
export interface TableChange {
  readonly table: Table;
  readonly isAdded: boolean;
  readonly isChanged: boolean;
  readonly isRemoved: boolean;
}

/** The part of a group's statement that handles one table. */
export interface TablePart extends TableChange {
  readonly isRead: boolean;
  /** Lookups that the statement repeats to detect conflicts. */
  readonly lookups: readonly string[];
}

/**
 * Names of the relations in the statement. In the JSON parameter, the members that contain the rows have the same
 * names.
 */
export const parts = {
  read: ({ name }: Table) => `${name}_read`,
  changed: ({ name }: Table) => `${name}_changed`,
  removed: ({ name }: Table) => `${name}_removed`,
  added: ({ name }: Table) => `${name}_added`,
  searched: ({ name }: Table, lookup: string) => `${name}_${lookup}`,
} as const;

/** A result row: a counter and its value before the group ran, or a component whose changes were not stored. */
export interface GroupRow {
  readonly name: string | null;
  readonly before: bigint | null;
  readonly version: bigint | null;
  readonly component: number | null;
}

const isStored = (alias: string) => `${alias}.component <> ALL (ARRAY(SELECT component FROM conflicts))`;

/** Whether changed rows of a table may contain ids of rows added by the group. Client resources never do. */
export const mayReferenceAddedIds = ({ resource }: Table) => resource === undefined;

/**
 * Stands for the id of an added row: the name of its counter, and its number among the rows that the group adds. The
 * delimiter never occurs in JSON, which escapes control characters.
 */
export const idMark = (counter: string, number: number) => `\x01${counter} ${number}\x01`;

/**
 * The JSON of the rows that contain ids of added rows, once these ids are known. If all rows of a counter conflict, the
 * counter is not locked, and the rows are not stored.
 */
const filled = `filled AS MATERIALIZED (
  SELECT string_agg(CASE WHEN place % 2 = 1 THEN piece
    ELSE coalesce(moved.before + split_part(piece, ' ', 2)::bigint, 0)::text END, '' ORDER BY place)::jsonb AS given
  FROM unnest(string_to_array($2::text, chr(1))) WITH ORDINALITY AS pieces (piece, place)
  LEFT JOIN moved ON place % 2 = 0 AND moved.name = split_part(piece, ' ', 1))`;

type Source = 'input' | 'filled';

/** Expands a JSON array into rows. */
function relation(member: string, columns: string, alias: string, source: Source = 'input'): string {
  return `${source}, jsonb_to_recordset(given->'${member}') AS ${alias} (component integer, ${columns})`;
}

const usedCounters = relation('counters', 'name text', 'used');

const typed = (columns: readonly { name: string; type: keyof typeof casts }[]) =>
  columns.map(({ name, type }) => `${name} ${casts[type]}`).join(', ');

const named = (columns: readonly { name: string }[], alias: string) =>
  columns.map(({ name }) => `${alias}.${name}`).join(', ');

/**
 * Instances of version 1.1.0 lock the counters of resources first, and then wait for rows. During a rolling upgrade, the
 * counters are therefore locked first, because the two orders would cause deadlocks.
 */
export type LockOrder = 'rows first' | 'counters first';

/**
 * Returns a group's statement. The statement locks the rows that were read, without waiting: a row locked by another
 * transaction counts as changed. A component is stored only if none of the rows that it read have changed. The counters
 * are locked last, because these locks block every other transaction that changes the same resource.
 */
export function buildGroupStatement(tables: readonly TablePart[], order: LockOrder = 'rows first'): string {
  const read = tables.filter(({ isRead }) => isRead);
  const searches = tables.some(({ lookups }) => lookups.length > 0);
  const [added, changed, removed] = [
    tables.filter(({ isAdded }) => isAdded),
    tables.filter(({ isChanged }) => isChanged),
    tables.filter(({ isRemoved }) => isRemoved),
  ];
  const conflicts = tables.flatMap((part) => [
    ...(part.isRead ? [rowConflicts(part.table, searches)] : []),
    ...part.lookups.map((lookup) => searchConflicts(part.table, lookup)),
  ]);
  // As much as possible is stored before the counters are locked, because these locks block others. But a transaction that
  // adds a row has locked the counters, and waits for one that changes or deletes a row with the same key. Only keys from a
  // counter are never added again.
  const isEarly = ({ table }: TablePart) => table.isCounted && !mayReferenceAddedIds(table);
  const early = [
    ...changed.filter(isEarly).map(({ table }) => [parts.changed(table), changedRows(table)] as const),
    ...removed
      .filter(({ table }) => table.isCounted)
      .map(({ table }) => [parts.removed(table), removedRows(table)] as const),
  ];
  const late = [
    ...changed.filter((part) => !isEarly(part)).map(({ table }) => changedRows(table, afterCounters)),
    ...removed.filter(({ table }) => !table.isCounted).map(({ table }) => removedRows(table, afterCounters)),
  ];
  // A group that read no stored row would otherwise not evaluate `all_counted`.
  const before = [...(order === 'counters first' ? ['all_counted'] : []), ...early.map(([name]) => name)];
  const first = before.map((name) => `(SELECT count(*) FROM ${name}) >= 0 AND `).join('');
  return `WITH ${[
    'input AS MATERIALIZED (SELECT $1::text::jsonb AS given)',
    ...(order === 'counters first' ? [allCounted] : []),
    ...read.flatMap(({ table }) => lockedRows(table, order)),
    ...tables.flatMap(({ table, lookups }) => lookups.map((lookup) => searched(table, lookup))),
    `conflicts AS MATERIALIZED (${conflicts.length > 0 ? conflicts.join(' UNION ') : 'SELECT 0 AS component WHERE false'})`,
    ...early.map(([, text]) => text),
    `counted AS MATERIALIZED (
      SELECT name FROM counters WHERE ${first}name = ANY (ARRAY(
        SELECT used.name FROM ${usedCounters} WHERE ${isStored('used')}
      )) ORDER BY name FOR UPDATE)`,
    `moved AS (
      UPDATE counters SET last = last + coalesce((given->'numbers'->>counters.name)::bigint, 0), ${incrementVersionSql}
      FROM counted, input WHERE counters.name = counted.name
      RETURNING counters.name, last - coalesce((given->'numbers'->>counters.name)::bigint, 0) AS before, version)`,
    filled,
    ...late,
    ...added.map(({ table }) => addedRows(table)),
    recordedEvents,
    ...(tables.some(({ table }) => table === (storedResponses as Table)) ? [expiredResponses] : []),
  ].join(',\n')}
  SELECT name, before, version, NULL::integer AS component FROM moved
  UNION ALL SELECT NULL, NULL, NULL, component FROM conflicts`;
}

/** Locks the counters of resources before other counters, as version 1.1.0 does. */
const allCounted = `all_counted AS MATERIALIZED (
  SELECT name FROM counters WHERE name = ANY (ARRAY(SELECT used.name FROM ${usedCounters}))
  ORDER BY name <> ALL ('{${resources.map(versionCounter)}}'), name FOR UPDATE)`;

function lockedRows(table: Table, order: LockOrder): string[] {
  const columns = sqlColumns(table);
  const name = parts.read(table);
  const [key] = sqlKeyColumns(table);
  const isLast = order === 'counters first' ? '(SELECT count(*) FROM all_counted) >= 0 AND ' : '';
  return [
    `${name} AS MATERIALIZED (SELECT old.* FROM ${relation(name, `is_there boolean, ${typed(columns)}`, 'old')})`,
    `${name}_now AS MATERIALIZED (
      SELECT ${named(columns, table.name)}, ctid AS row_version FROM ${table.name}
      WHERE ${isLast}${key?.name} = ANY (ARRAY(SELECT ${key?.name} FROM ${name} WHERE is_there)) FOR UPDATE SKIP LOCKED)`,
  ];
}

/**
 * If another transaction adds a row with the same key, the statement fails with a primary key violation. Searches do not see
 * what was committed since the statement began, unlike the locks. With searches, a row is therefore also in conflict if it
 * has a new version with the same values: an animal that became available and was ordered again, for example.
 */
function rowConflicts(table: Table, searches: boolean): string {
  const [key, ...others] = sqlColumns(table);
  const name = parts.read(table);
  const differs =
    others.length === 0 ? 'false' : `(${named(others, 'now')}) IS DISTINCT FROM (${named(others, 'old')})`;
  const isNewer = `now.row_version IS DISTINCT FROM (SELECT it.ctid FROM ${table.name} AS it WHERE it.${key?.name} = old.${key?.name})`;
  return `
    SELECT component FROM ${name} AS old LEFT JOIN ${name}_now AS now ON now.${key?.name} = old.${key?.name}
    WHERE old.is_there AND (now.${key?.name} IS NULL OR ${differs}${searches ? ` OR ${isNewer}` : ''})
    UNION SELECT component FROM ${name} AS old
    WHERE NOT old.is_there AND EXISTS (SELECT FROM ${table.name} AS it WHERE it.${key?.name} = old.${key?.name})`;
}

function searched(table: Table, lookup: string): string {
  const member = parts.searched(table, lookup);
  const [key] = sqlKeyColumns(table);
  const columns = `value ${searchedType(table, lookup)}, found ${casts[key?.type ?? 'integer']}`;
  return `${member} AS MATERIALIZED (SELECT search.* FROM ${relation(member, columns, 'search')})`;
}

/**
 * Repeats the searches on all data committed before the statement. A row that is added later is detected because adding
 * it changes a locked row, if only to the same values: a new order, for example, changes its animal.
 */
function searchConflicts(table: Table, lookup: string): string {
  const [key] = sqlKeyColumns(table);
  const condition = lookupCondition(table, lookup, (column) => `it.${column} = search.value`);
  return `
    SELECT component FROM ${parts.searched(table, lookup)} AS search
    WHERE (SELECT it.${key?.name} FROM ${table.name} AS it WHERE ${condition}) IS DISTINCT FROM search.found`;
}

function searchedType(table: Table, lookup: string): string {
  const [by = ''] = table.lookups[lookup]?.by ?? [];
  return casts[table.columns[by]?.type ?? 'integer'];
}

/**
 * Forces an index scan. The planner expects many rows from a JSON array, and would otherwise scan a small table
 * sequentially.
 */
function hasKeyIn(table: Table, member: string, source?: Source): string {
  const [key] = sqlKeyColumns(table);
  const rows = relation(member, typed(sqlKeyColumns(table)), 'its', source);
  return `it.${key?.name} = ANY (ARRAY(SELECT its.${key?.name} FROM ${rows}))`;
}

/** Delays a change until the counters are locked. */
const afterCounters = '(SELECT count(*) FROM moved) >= 0 AND ';

/** `condition` delays the change until it can be evaluated. */
function changedRows(table: Table, condition = ''): string {
  const columns = sqlColumns(table);
  const [key] = columns;
  const name = parts.changed(table);
  const source = mayReferenceAddedIds(table) ? 'filled' : 'input';
  const assignments = columns
    .filter((column) => column !== key || columns.length === 1)
    .map((column) => `${column.name} = new.${column.name}`)
    .join(', ');
  return `${name} AS (
    UPDATE ${table.name} AS it SET ${assignments} FROM ${relation(name, typed(sqlColumns(table)), 'new', source)}
    WHERE ${condition}it.${key?.name} = new.${key?.name} AND ${hasKeyIn(table, name, source)} AND ${isStored('new')} RETURNING 1)`;
}

function removedRows(table: Table, condition = ''): string {
  const [key] = sqlKeyColumns(table);
  const name = parts.removed(table);
  return `${name} AS (
    DELETE FROM ${table.name} AS it USING ${relation(name, typed(sqlKeyColumns(table)), 'old')}
    WHERE ${condition}it.${key?.name} = old.${key?.name} AND ${hasKeyIn(table, name)} AND ${isStored('old')} RETURNING 1)`;
}

/**
 * Adds rows in the order of their keys. Groups that lock different counters may store responses for the same keys, and each
 * waits for the other's row, so that another order would cause deadlocks.
 */
function addedRows(table: Table): string {
  const columns = sqlColumns(table);
  const [key] = sqlKeyColumns(table);
  const name = parts.added(table);
  return `${name}_stored AS (
    INSERT INTO ${table.name} (${columns.map((column) => column.name)})
    SELECT ${named(columns, 'new')} FROM ${relation(name, typed(columns), 'new', 'filled')}
    WHERE ${isStored('new')} ORDER BY new.${key?.name})`;
}

const eventColumns = 'number bigint, type text, data text, account_id bigint, created_at bigint';

const recordedEvents = `recorded AS (
  INSERT INTO unnumbered_events (type, data, account_id, created_at)
  SELECT new.type, new.data, new.account_id, new.created_at FROM ${relation('events', eventColumns, 'new', 'filled')}
  WHERE ${isStored('new')} ORDER BY new.number)`;

/**
 * Omits rows that the group may replace, because a statement can change a row only once. The time is a subquery, because a
 * join with the input would compare it with every stored response.
 */
const expiredResponses = `expired AS (
  DELETE FROM idempotent_answers WHERE id = ANY (ARRAY(
    SELECT id FROM idempotent_answers
    WHERE kept_at < (SELECT (given->>'responsesSince')::bigint FROM input)
      AND id NOT IN (SELECT id FROM ${parts.read(storedResponses as Table)})
    ORDER BY kept_at LIMIT (SELECT ${responseRemovalBatch} * (given->>'storedResponses')::bigint FROM input)
    FOR UPDATE OF idempotent_answers SKIP LOCKED)))`;

/**
 * Tables without triggers. Including such a table costs little, even if the group has no rows for it. Rarely changed
 * tables form a bundle.
 */
const bundles = [
  [storedResponses],
  [audit, categories, imports],
] as readonly unknown[] as readonly (readonly Table[])[];

/**
 * Adds tables for which the group has no rows, to limit the number of distinct statements. A prepared statement takes
 * about half a megabyte per connection on the server. Tables with triggers are included only if the group has rows for
 * them.
 */
export function shaped(changes: readonly TableChange[]): TablePart[] {
  const changed = new Set(changes.map(({ table }) => table));
  const others = bundles.filter((bundle) => bundle.some((table) => changed.has(table))).flat();
  const exact = changes.filter(({ table }) => !others.includes(table));
  return [
    ...exact.map((part) => ({ ...part, isRead: true, lookups: lookupsOf(part.table) })),
    ...others.map((table) => {
      // Groups only add rows to bundled tables whose ids come from a counter.
      const isKeyed = !table.isCounted;
      return { table, isRead: isKeyed, isAdded: true, isChanged: isKeyed, isRemoved: isKeyed, lookups: [] };
    }),
  ].toSorted((one, other) => (one.table.name < other.table.name ? -1 : 1));
}

const lookupsOf = ({ lookups }: Table) =>
  Object.entries(lookups).flatMap(([name, { by }]) => (by.length === 1 ? [name] : []));
