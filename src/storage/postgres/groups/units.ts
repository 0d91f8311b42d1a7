import type { Run } from '../../unit-of-work.ts';
import { componentsOf } from './components.ts';
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
  const components = componentsOf(alone);
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
