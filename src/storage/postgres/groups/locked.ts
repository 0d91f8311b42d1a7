import { StorageUnavailable } from '../../../outages/errors.ts';
import { sqlKeyColumns } from '../../../tables/sql.ts';
import type { Table } from '../../../tables/table.ts';
import type { Run } from '../../unit-of-work.ts';
import { anyOf } from '../entities/entity.ts';
import { toRowConflict } from '../failures.ts';
import type { Execute } from '../statements.ts';
import { lock } from '../versions.ts';
import {
  type GroupOptions,
  type Outcomes,
  recordDependencies,
  resolveOutcomes,
  storeComponents,
} from './commit.ts';
import { GroupRows, type Key } from './rows.ts';
import { groupIntoComponents, runUnits, type SettledUnit } from './units.ts';

/**
 * Runs units that conflicted repeatedly, for example on an instance that is farther from the database than other
 * instances. Locks the rows that the units read, so that other instances wait. Units without an outcome must run again.
 */
export async function commitLocked(runs: readonly Run[], options: GroupOptions): Promise<Outcomes> {
  const { database, dueAt, moved } = options;
  const noOutcomes = runs.flatMap(({ calls }) => Array<undefined>(calls.length).fill(undefined));
  const own: GroupOptions['moved'] = new Map();
  try {
    return await database.transact((execute) => {
      own.clear();
      return runLocked(runs, execute, { ...options, moved: own });
    }, dueAt);
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error;
    if (toRowConflict(error) === 'taken') return noOutcomes;
    if (runs.length === 1) return noOutcomes.map(() => ({ error }));
    // The database rejected the values of one unit. Runs the first half of the units now; the second half is retried
    // later.
    const half = Math.ceil(runs.length / 2);
    const first = await commitLocked(runs.slice(0, half), options);
    return [...first, ...noOutcomes.slice(first.length)];
  } finally {
    for (const [resource, version] of own) moved.set(resource, version);
  }
}

async function runLocked(
  runs: readonly Run[],
  execute: Execute,
  { ids, recordsEvents, moved, order }: GroupOptions,
): Promise<Outcomes> {
  const run = async () => {
    const rows = new GroupRows({ run: execute });
    return { rows, units: await runUnits(runs, { rows, ids, recordsEvents }) };
  };
  if (order === 'counters first') {
    await execute((sql) => lock(sql, new Set(runs.flatMap(({ writes }) => writes))));
  }
  await lockRows((await run()).units, execute);
  const { rows, units } = await run();
  const components = groupIntoComponents(units);
  const { conflicts, real } = await storeComponents(components, rows, { ids, moved, write: execute, order });
  recordDependencies(components, moved);
  const settled = new Map<Run, Outcomes>();
  for (const component of components) {
    if (conflicts.has(component.number)) continue;
    for (const unit of component.units) settled.set(unit.run, resolveOutcomes(unit, real, ids));
  }
  return runs.flatMap((each) => settled.get(each) ?? Array<undefined>(each.calls.length).fill(undefined));
}

/** Locks rows table by table, in the order of table names, to avoid deadlocks. */
async function lockRows(units: readonly SettledUnit[], execute: Execute): Promise<void> {
  const keys = new Map<Table, Set<Key>>();
  for (const touched of units.flatMap(({ changes }) => [...changes.touched])) {
    if ('lookup' in touched || touched.stored === undefined) continue;
    keys.set(touched.table, (keys.get(touched.table) ?? new Set()).add(touched.key));
  }
  for (const [table, its] of [...keys].sort(([one], [other]) => (one.name < other.name ? -1 : 1))) {
    const [{ name = '', type = 'integer' } = {}] = sqlKeyColumns(table);
    const text = `SELECT FROM ${table.name} WHERE ${name} = ${anyOf(type)} ORDER BY ${name} FOR UPDATE`;
    await execute((sql) => sql.unsafe(text, [JSON.stringify([...its].map(String))]));
  }
}
