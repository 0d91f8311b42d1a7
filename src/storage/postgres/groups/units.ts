import type { Run } from '../../unit-of-work.ts';
import type { ProvisionalIds } from './provisional-ids.ts';
import type { GroupRows } from './rows.ts';
import { groupTransaction } from './transaction.ts';
import { ReadsUncommitted, UnitChanges } from './unit-changes.ts';

/** A unit that ran in memory: its changes, and its outcomes or the error for which it has no changes. */
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
 * Runs units in their order. Those that need the outcome of another one are left out: they run with the next group.
 * Rejects when a read fails.
 */
export async function runUnits(runs: readonly Run[], context: Context): Promise<SettledUnit[]> {
  // All at once, so that their reads go together: each would wait for its own otherwise. The outcomes are thrown away.
  if (runs.length > 1) await Promise.all(runs.map((run) => runUnit(run, context)));
  const settled: SettledUnit[] = [];
  for (const run of runs) {
    const unit = await runUnit(run, context);
    const { failure } = context.rows;
    if (failure !== undefined) throw failure.error;
    if (unit.error instanceof ReadsUncommitted) continue;
    if (unit.outcomes !== undefined) unit.changes.keep();
    settled.push(unit);
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
