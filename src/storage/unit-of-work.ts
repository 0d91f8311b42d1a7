import type { Awaitable } from '../domain/awaitable.ts';
import type { Resource } from '../domain/resources.ts';
import type { BatchOfWork, Transaction, UnitOfWork, Units } from './transaction.ts';

export interface UnitCall {
  readonly name: string;
  readonly input: unknown;
}

export interface Run {
  readonly calls: readonly UnitCall[];
  readonly writes: readonly Resource[];
  readonly isOneCall: boolean;
  readonly start: (transaction: Transaction) => Awaitable<readonly unknown[]>;
}

/**
 * Divides the calls of a group into runs, in order. Consecutive calls of the same batch are one run; every other call
 * is a separate run.
 */
export function groupIntoRuns(units: Units, calls: readonly UnitCall[]): Run[] {
  const runs: Run[] = [];
  for (let from = 0; from < calls.length; ) {
    const { name } = calls[from] as UnitCall;
    const unit = units[name];
    if (unit === undefined) throw new Error(`There is no unit of work "${name}".`);
    let to = from + 1;
    if ('all' in unit) while (calls[to]?.name === name) to++;
    runs.push(createRun(unit, calls.slice(from, to)));
    from = to;
  }
  return runs;
}

/**
 * Throws if a unit changed an undeclared resource, because on PostgreSQL, other transactions could change that resource
 * at the same time. Only the embedded store checks this; the tests run every unit on it.
 */
export function expectDeclared(writes: readonly Resource[], resource: Resource): void {
  if (writes.includes(resource)) return;
  throw new Error(`A unit of work changed "${resource}". Add it to the unit's \`writes\`.`);
}

/** The resources that a unit may change for a given input. */
export function declaredWrites(unit: UnitOfWork | BatchOfWork, input: unknown): readonly Resource[] {
  return ('writesFor' in unit && unit.writesFor?.(input as never)) || unit.writes;
}

function createRun(unit: UnitOfWork | BatchOfWork, calls: readonly UnitCall[]): Run {
  const inputs = calls.map(({ input }) => input as never);
  if ('all' in unit) {
    const { writes } = unit;
    const isOneCall = unit.isSeveralCalls !== true;
    return { calls, writes, isOneCall, start: (transaction) => unit.all(transaction, inputs) };
  }
  const writes = declaredWrites(unit, inputs[0]);
  const start = async (transaction: Transaction) => [await unit.run(transaction, inputs[0] as never)];
  return { calls, writes, isOneCall: false, start };
}
