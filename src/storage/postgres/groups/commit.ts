import { type Resource, resources } from '../../../domain/resources.ts';
import { answers } from '../../../tables/answers.ts';
import type { Table } from '../../../tables/table.ts';
import type { Settled } from '../../group-queue.ts';
import { StorageUnavailable, WriteUncertain } from '../../storage.ts';
import type { Run } from '../../unit-of-work.ts';
import type { PostgresDatabase } from '../database.ts';
import { conflictOf } from '../failures.ts';
import { type Change, groupChange } from './change.ts';
import { type Component, componentsOf } from './components.ts';
import type { ProvisionalIds } from './provisional-ids.ts';
import { GroupRows } from './rows.ts';
import { type GroupRow, groupText } from './statement.ts';
import { runUnits, type SettledUnit } from './units.ts';

export interface GroupOptions {
  readonly database: PostgresDatabase;
  readonly ids: ProvisionalIds;
  readonly recordsEvents: boolean;
  /** The versions that are raised are put here; 0 for one that is perhaps not raised. */
  readonly moved: Map<Resource, number>;
  readonly dueAt: number;
}

type Outcomes = (Settled<never> | undefined)[];

/**
 * Runs a group of units by optimistic concurrency control: they read what they need, together and without locks, change
 * it in memory, and one statement stores the changes if the rows are still as they were read. No lock is held across a
 * round trip. Units without an outcome conflicted with another transaction, or need an outcome of the group: they run again.
 */
export async function commitGroup(runs: readonly Run[], options: GroupOptions): Promise<Outcomes> {
  const { database, ids, recordsEvents, dueAt } = options;
  const rows = new GroupRows({ run: (statement) => database.read(statement, dueAt) });
  const components = componentsOf(await runUnits(runs, { rows, ids, recordsEvents }));
  const settled = new Map<Run, Outcomes>();
  const store = async (its: readonly Component<SettledUnit>[]) => {
    const stored = await storeComponents(its, rows, options);
    for (const { number, units } of its) {
      if (stored.conflicts.has(number)) continue;
      for (const unit of units) settled.set(unit.run, outcomesOf(unit, stored.real, ids));
    }
  };
  try {
    await store(components);
  } catch (error) {
    // The outcome of all is the same, and perhaps that they are stored.
    if (error instanceof StorageUnavailable) throw error;
    // The database rejects the values of a unit, or another transaction has added a row of its: the others are stored without it.
    for (const component of components) {
      await store([component]).catch((failure) => {
        if (conflictOf(failure) === 'taken') return;
        for (const { run } of component.units) settled.set(run, failed(run, failure));
      });
    }
  }
  return runs.flatMap((run) => settled.get(run) ?? Array<undefined>(run.calls.length).fill(undefined));
}

function outcomesOf(
  { run, changes, outcomes, error }: SettledUnit,
  real: ReadonlyMap<bigint, bigint>,
  ids: ProvisionalIds,
): Outcomes {
  if (outcomes === undefined) return failed(run, error);
  const final = changes.addsRows ? (ids.replaced(outcomes, real) as readonly unknown[]) : outcomes;
  return final.map((outcome) => ({ outcome: outcome as never }));
}

function failed({ calls }: Run, error: unknown): Outcomes {
  return calls.map(() => ({ error }));
}

interface Stored {
  /** Numbers of components that were left out. */
  readonly conflicts: ReadonlySet<number>;
  /** The real ids of provisional ones. */
  readonly real: ReadonlyMap<bigint, bigint>;
}

async function storeComponents(
  components: readonly Component<SettledUnit>[],
  rows: GroupRows,
  { database, ids, moved, dueAt }: GroupOptions,
): Promise<Stored> {
  const change = groupChange(components, rows, ids);
  if (change === undefined) return { conflicts: new Set(), real: new Map() };
  const { tables, hasEvents, json } = change;
  const hasAnswers = tables.some(
    ({ table, isAdded, isChanged }) => (isAdded || isChanged) && table === (answers as Table),
  );
  const text = groupText(tables, hasEvents, hasAnswers);
  const unmoved = change.resources.filter((resource) => !moved.has(resource));
  for (const resource of unmoved) moved.set(resource, 0);
  const forgetUnmoved = () => {
    for (const resource of unmoved) if (moved.get(resource) === 0) moved.delete(resource);
  };
  const found = await database
    .write<GroupRow[]>((sql) => sql.unsafe(text, [json]), dueAt)
    .catch((error) => {
      // Only the outcome of a lost connection is unknown.
      if (error instanceof WriteUncertain) for (const resource of change.resources) moved.set(resource, 0);
      else forgetUnmoved();
      throw error;
    });
  note(found, moved);
  forgetUnmoved();
  return storedOf(found, change);
}

function note(found: readonly GroupRow[], moved: Map<Resource, number>): void {
  for (const { name, version } of found) {
    const resource = resources.find((each) => each === name);
    if (resource !== undefined) moved.set(resource, Number(version));
  }
}

function storedOf(found: readonly GroupRow[], { added }: Change): Stored {
  const real = new Map<bigint, bigint>();
  const conflicts = new Set<number>();
  for (const { name, before, component } of found) {
    if (component !== null) conflicts.add(component);
    if (name === null || before === null) continue;
    for (const [index, id] of (added.get(name) ?? []).entries()) real.set(id, before + BigInt(index + 1));
  }
  return { conflicts, real };
}
