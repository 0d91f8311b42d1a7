import { type Result, resultOf } from '../../contract/operation.ts';
import { type OperationId, operations } from '../../contract/operations.ts';
import { Refusal } from '../../contract/refusal.ts';
import { dayMs } from '../../domain/clock.ts';
import type {
  AnswerKey,
  BatchOfWork,
  KeptAnswer,
  Transaction,
  UnitOfWork,
} from '../../storage/transaction.ts';

export const retentionMs = dayMs;

/** Identifies a request and its retries (`Idempotency-Key`). */
export interface Once {
  readonly accountId: number;
  readonly key: string;
  readonly request: string;
}

export interface OnceInput<Id extends OperationId = OperationId> {
  readonly operationId: Id;
  readonly input: { readonly now: number };
  readonly once: Once;
}

type OnceResult = Result & { readonly isReplayed: boolean };

export type OnceOutcome = OnceResult | 'idempotency_key_reused';

export function onceUnit(units: Readonly<Record<string, UnitOfWork | BatchOfWork>>) {
  const writes = [...new Set(Object.values(units).flatMap((unit) => unit.writes))];
  const writesFor = ({ operationId }: OnceInput) => units[operationId]?.writes ?? [];
  const run = async (
    transaction: Transaction,
    { operationId, input, once }: OnceInput,
  ): Promise<OnceResult> => {
    const since = input.now - retentionMs;
    const [kept] = await transaction.answers.find([once], since);
    if (kept !== undefined) {
      const outcome = replayOf(kept, once);
      if (typeof outcome === 'string') throw new Refusal(outcome);
      const unit = units[operationId];
      if (unit && 'run' in unit) await unit.checkReplay?.(transaction, input as never, outcome);
      return outcome;
    }
    const result = resultOf(operations[operationId], await runAlone(units[operationId], transaction, input));
    await transaction.answers.keep([keptAnswer(result, once, input.now)], since);
    return { ...result, isReplayed: false };
  };
  return { writes, writesFor, run };
}

/**
 * Processes concurrent requests as one batch: looks up all stored responses, runs the unit of work once, and stores all
 * responses. Only for operations that never fail with a refusal.
 */
export function onceBatch<Input>(operationId: OperationId, unit: BatchOfWork<Input>) {
  type RepeatableRequest = { readonly input: Input & { readonly now: number }; readonly once: Once };
  const all = async (
    transaction: Transaction,
    asked: readonly RepeatableRequest[],
  ): Promise<OnceOutcome[]> => {
    const since = Math.min(...asked.map(({ input }) => input.now)) - retentionMs;
    const keys = asked.map(({ once }) => once);
    const found = await transaction.answers.find(keys, since);
    const answers = new Map(
      found.flatMap((kept) => (kept === undefined ? [] : [[nameOf(kept), kept] as const])),
    );
    const first = new Map<string, RepeatableRequest>();
    for (const each of asked) {
      const name = nameOf(each.once);
      if (!answers.has(name) && !first.has(name)) first.set(name, each);
    }
    const done = [...first.values()];
    if (done.length > 0) {
      const inputs = done.map(({ input }) => input);
      const outcomes = await unit.all(transaction, inputs);
      const kept = done.map(({ once, input }, index) => {
        return keptAnswer(resultOf(operations[operationId], outcomes[index]), once, input.now);
      });
      await transaction.answers.keep(kept, since);
      for (const answer of kept) answers.set(nameOf(answer), answer);
    }
    return asked.map((each) => {
      const name = nameOf(each.once);
      const outcome = replayOf(answers.get(name) as KeptAnswer, each.once);
      return first.get(name) === each ? { ...(outcome as OnceResult), isReplayed: false } : outcome;
    });
  };
  return { writes: unit.writes, isSeveralCalls: true, all } as const;
}

function nameOf({ accountId, key }: AnswerKey): string {
  return `${accountId}:${key}`;
}

function keptAnswer({ status, body, location }: Result, once: Once, keptAt: number): KeptAnswer {
  return { ...once, status, body: body ?? null, location: location ?? null, keptAt };
}

function replayOf({ request, status, body, location }: KeptAnswer, once: Once): OnceOutcome {
  if (request !== once.request) return 'idempotency_key_reused';
  return {
    status,
    body: body ?? undefined,
    location: location ?? undefined,
    next: undefined,
    isReplayed: true,
  };
}

export async function runAlone(
  unit: UnitOfWork | BatchOfWork | undefined,
  transaction: Transaction,
  input: unknown,
): Promise<unknown> {
  if (unit === undefined) throw new Error('Unknown unit of work.');
  if ('run' in unit) return unit.run(transaction, input as never);
  const [outcome] = await unit.all(transaction, [input as never]);
  return outcome;
}
