import { type Resource, resources } from '../../../domain/resources.ts';
import { StorageUnavailable, WriteUncertainError } from '../../../outages/errors.ts';
import type { Settled } from '../../group-queue.ts';
import type { Run } from '../../unit-of-work.ts';
import type { PostgresDatabase } from '../database.ts';
import { toRowConflict } from '../failures.ts';
import type { Execute } from '../statements.ts';
import { addDependencies } from '../versions.ts';
import { type Change, groupChange } from './change.ts';
import type { ProvisionalIds } from './provisional-ids.ts';
import { GroupRows } from './rows.ts';
import { buildGroupStatement, type GroupRow, type LockOrder } from './statement.ts';
import { type Component, groupIntoComponents, runUnits, type SettledUnit } from './units.ts';

export interface GroupOptions {
  readonly database: PostgresDatabase;
  readonly ids: ProvisionalIds;
  readonly recordsEvents: boolean;
  /** Receives the new version of each changed resource, or 0 if the version is unknown. */
  readonly moved: Map<Resource, number>;
  readonly dueAt: number;
  readonly order: LockOrder;
}

export type Outcomes = (Settled<never> | undefined)[];

/**
 * Runs a group of units with optimistic concurrency control. The units share reads, take no locks, and change rows in
 * memory. A single statement stores the changes if the rows have not changed since they were read. No lock is held
 * across a round trip. Units without an outcome must run again: they conflicted with another transaction, or depend on
 * the outcome of another unit.
 */
export async function commitGroup(runs: readonly Run[], options: GroupOptions): Promise<Outcomes> {
  const { database, ids, recordsEvents, moved, dueAt, order } = options;
  const rows = new GroupRows({ run: (statement) => database.read(statement, dueAt) });
  const components = groupIntoComponents(await runUnits(runs, { rows, ids, recordsEvents }));
  const settled = new Map<Run, Outcomes>();
  const write: Execute = (statement) => database.write(statement, dueAt);
  const store = async (its: readonly Component<SettledUnit>[]): Promise<void> => {
    try {
      const stored = await storeComponents(its, rows, { ids, moved, write, order });
      for (const { number, units } of its) {
        if (stored.conflicts.has(number)) continue;
        for (const unit of units) settled.set(unit.run, resolveOutcomes(unit, stored.real, ids));
      }
    } catch (error) {
      const isRejected = !(error instanceof StorageUnavailable);
      // The failure applies to all units. Their changes may have been stored.
      if (!isRejected && its === components) throw error;
      if (isRejected && its.length > 1) {
        // The error was caused by the values of one unit, or by a row that another transaction added. Bisection finds
        // the unit with few statements.
        const half = Math.ceil(its.length / 2);
        await store(its.slice(0, half));
        await store(its.slice(half));
      } else if (toRowConflict(error) !== 'taken') {
        for (const { run } of its.flatMap(({ units }) => units)) settled.set(run, failed(run, error));
      }
    }
  };
  await store(components);
  recordDependencies(components, moved);
  return runs.flatMap((run) => settled.get(run) ?? Array<undefined>(run.calls.length).fill(undefined));
}

/** Records the resources used by units that succeeded without changing anything. */
export function recordDependencies(
  components: readonly Component<SettledUnit>[],
  moved: GroupOptions['moved'],
): void {
  for (const { run, changes, outcomes } of components.flatMap(({ units }) => units)) {
    if (outcomes !== undefined && changes.changesNothing) addDependencies(moved, run.writes);
  }
}

export function resolveOutcomes(
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
  /** The numbers of the components that were not stored. */
  readonly conflicts: ReadonlySet<number>;
  /** Real ids by provisional id. */
  readonly real: ReadonlyMap<bigint, bigint>;
}

interface StoreOptions extends Pick<GroupOptions, 'ids' | 'moved' | 'order'> {
  readonly write: Execute;
}

export async function storeComponents(
  components: readonly Component<SettledUnit>[],
  rows: GroupRows,
  { ids, moved, write, order }: StoreOptions,
): Promise<Stored> {
  const change = groupChange(components, rows, ids);
  if (change === undefined) return { conflicts: new Set(), real: new Map() };
  const { tables, json, marked } = change;
  const text = buildGroupStatement(tables, order);
  const unmoved = change.resources.filter((resource) => !moved.has(resource));
  for (const resource of unmoved) moved.set(resource, 0);
  const forgetUnmoved = () => {
    for (const resource of unmoved) if (moved.get(resource) === 0) moved.delete(resource);
  };
  const found = await write<GroupRow[]>((sql) => sql.unsafe(text, [json, marked])).catch((error) => {
    // The outcome is unknown only if the connection was lost.
    if (error instanceof WriteUncertainError) for (const resource of change.resources) moved.set(resource, 0);
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
