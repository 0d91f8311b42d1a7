import { type OperationId, operations } from '../contract/operations.ts';
import { type Result, resultOf } from '../contract/result.ts';
import { Refusal } from '../domain/refusal.ts';
import type { BatchOfWork, Transaction, UnitOfWork } from '../storage/transaction.ts';

/** How long what a request answered is kept for its repetitions, in ms. */
export const keptForMs = 86_400_000;

/** What tells a request and its repetitions from all others (`Idempotency-Key`). */
export interface Once {
  readonly accountId: number;
  readonly key: string;
  /** SHA-256 over method, path and body. */
  readonly request: string;
}

/** A request that is to be done once, however often it comes. */
export interface OnceInput<Id extends OperationId = OperationId> {
  readonly operationId: Id;
  readonly input: { readonly now: number };
  readonly once: Once;
}

export type OnceResult = Result & { readonly isReplayed: boolean };

/** The unit of work that does one of these and keeps its answer, in one transaction; or answers what is kept. */
export function onceUnit(units: Readonly<Record<string, UnitOfWork | BatchOfWork>>) {
  const writes = [...new Set(Object.values(units).flatMap((unit) => unit.writes))];
  const run = async (
    transaction: Transaction,
    { operationId, input, once }: OnceInput,
  ): Promise<OnceResult> => {
    const since = input.now - keptForMs;
    const kept = await transaction.answers.find(once.accountId, once.key, since);
    if (kept !== undefined) {
      if (kept.request !== once.request) throw new Refusal('idempotency_key_reused');
      const { status, body, location } = kept;
      return {
        status,
        body: body ?? undefined,
        location: location ?? undefined,
        next: undefined,
        isReplayed: true,
      };
    }
    const result = resultOf(operations[operationId], await runAlone(units[operationId], transaction, input));
    const { status, body, location } = result;
    const answer = { status, body: body ?? null, location: location ?? null, keptAt: input.now };
    await transaction.answers.keep({ ...once, ...answer }, since);
    return { ...result, isReplayed: false };
  };
  return { writes, run };
}

async function runAlone(
  unit: UnitOfWork | BatchOfWork | undefined,
  transaction: Transaction,
  input: unknown,
): Promise<unknown> {
  if (unit === undefined) throw new Error('There is no such unit of work.');
  if ('run' in unit) return unit.run(transaction, input as never);
  const [outcome] = await unit.all(transaction, [input as never]);
  return outcome;
}
