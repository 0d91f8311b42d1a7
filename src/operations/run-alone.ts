import type { BatchOfWork, Transaction, UnitOfWork } from '../storage/transaction.ts';

/** Runs a unit of work within another one. */
export async function runAlone(
  unit: UnitOfWork | BatchOfWork | undefined,
  transaction: Transaction,
  input: unknown,
): Promise<unknown> {
  if (unit === undefined) throw new Error('There is no such unit of work.');
  if ('run' in unit) return unit.run(transaction, input as never);
  const [outcome] = await unit.all(transaction, [input as never]);
  return outcome;
}
