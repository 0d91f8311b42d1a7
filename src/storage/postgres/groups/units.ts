import type { Run } from '../../unit-of-work.ts';
import type { ProvisionalIds } from './provisional-ids.ts';
import type { GroupRows } from './rows.ts';
import { groupTransaction } from './transaction.ts';
import { ReadsUncommitted, UnitChanges } from './unit-changes.ts';

/** A unit that ran in memory, with its changes and outcomes, or the error that it threw. */
export interface SettledUnit {
  readonly run: Run;
  readonly changes: UnitChanges;
  readonly outcomes: readonly unknown[] | undefined;
  readonly error: unknown;
}

interface Context {
  readonly rows: GroupRows;
  readonly ids: ProvisionalIds;
  readonly recordsEvents: boolean;
}

/**
 * Runs units with the same results as if they ran one after the other. Units that depend on the outcome of another unit
 * are deferred to the next group. Rejects if a read fails.
 */
export async function runUnits(runs: readonly Run[], context: Context): Promise<SettledUnit[]> {
  const settled: SettledUnit[] = [];
  const settle = (unit: SettledUnit) => {
    const { failure } = context.rows;
    if (failure !== undefined) throw failure.error;
    if (unit.error instanceof ReadsUncommitted) return;
    if (unit.outcomes !== undefined) unit.changes.keep();
    settled.push(unit);
  };
  // Runs all units concurrently, so that their reads are sent at the same time. Each unit sees only the rows in the
  // database.
  const alone = await Promise.all(runs.map((run) => runUnit(run, context)));
  const components = groupIntoComponents(alone);
  for (const {
    units: [unit, ...others],
  } of components)
    if (unit && others.length === 0) settle(unit);
  // Units that touched the same rows run again, one after the other, so that each unit sees the results of earlier
  // units.
  for (const { units } of components) {
    if (units.length > 1) for (const { run } of units) settle(await runUnit(run, context));
  }
  return settled;
}

async function runUnit(run: Run, { rows, ids, recordsEvents }: Context): Promise<SettledUnit> {
  const changes = new UnitChanges(rows, ids);
  try {
    const outcomes = await run.start(groupTransaction(changes, recordsEvents));
    return { run, changes, outcomes, error: undefined };
  } catch (error) {
    return { run, changes, outcomes: undefined, error };
  }
}

/** A unit, and the rows that it read and changed. */
interface Touching {
  readonly changes: { readonly touched: Iterable<unknown> };
}

/**
 * Units that touched the same rows. Each unit saw the changes of earlier units, so the changes are stored or discarded
 * as a whole.
 */
export interface Component<Unit> {
  readonly number: number;
  readonly units: readonly Unit[];
}

/** Groups units into connected components by the rows that they touched. */
export function groupIntoComponents<Unit extends Touching>(units: readonly Unit[]): Component<Unit>[] {
  const parents = units.map((_, index) => index);
  const rootOf = (index: number): number => {
    let root = index;
    while (parents[root] !== root) root = parents[root] as number;
    parents[index] = root;
    return root;
  };
  const first = new Map<unknown, number>();
  for (const [index, { changes }] of units.entries()) {
    for (const touched of changes.touched) {
      const other = first.get(touched);
      if (other === undefined) first.set(touched, index);
      else parents[rootOf(index)] = rootOf(other);
    }
  }
  const members = new Map<number, Unit[]>();
  for (const [index, unit] of units.entries()) {
    const root = rootOf(index);
    const known = members.get(root);
    if (known === undefined) members.set(root, [unit]);
    else known.push(unit);
  }
  return [...members].map(([number, its]) => ({ number, units: its }));
}
