import { ApiError } from '../../contract/api-error.ts';
import { type Result, toResult } from '../../contract/operation.ts';
import { type RepeatableId, repeatableResponses } from '../../contract/representations.ts';
import { dayMs } from '../../domain/clock.ts';
import type {
  BatchOfWork,
  ResponseKey,
  StoredResponse,
  Transaction,
  UnitOfWork,
} from '../../storage/transaction.ts';

export const retentionMs = dayMs;

/** Identifies a request and its retries (`Idempotency-Key`). */
export interface IdempotentRequest {
  readonly accountId: number;
  readonly key: string;
  readonly request: string;
}

/**
 * The stored response to an earlier request with the same key. `at` is the store's time (`Clock.storeTime`), so that a
 * step of the clock neither ends the retention nor extends it. Throws `idempotency_key_reused` if the earlier request was
 * a different one.
 */
export async function findStoredResponse(
  { storedResponses }: Transaction,
  once: IdempotentRequest,
  at: number,
): Promise<StoredResponse | undefined> {
  const [stored] = await storedResponses.find([once], at - retentionMs);
  if (stored !== undefined && stored.request !== once.request) throw new ApiError('idempotency_key_reused');
  return stored;
}

interface OnceAt {
  readonly once: IdempotentRequest;
  readonly at: number;
}

export interface IdempotentInput extends OnceAt {
  readonly operationId: RepeatableId;
  readonly input: object;
}

type IdempotentResult = Result & { readonly isReplayed: boolean };

export type IdempotentOutcome = IdempotentResult | 'idempotency_key_reused';

export function createIdempotentUnit(units: Readonly<Record<string, UnitOfWork | BatchOfWork>>) {
  const writes = [...new Set(Object.values(units).flatMap((unit) => unit.writes))];
  const writesFor = ({ operationId }: IdempotentInput) => units[operationId]?.writes ?? [];
  const run = async (
    transaction: Transaction,
    { operationId, input, once, at }: IdempotentInput,
  ): Promise<IdempotentResult> => {
    const unit = units[operationId];
    const stored = await findStoredResponse(transaction, once, at);
    if (stored !== undefined) {
      const outcome = toReplay(stored);
      if (unit && 'run' in unit) await unit.checkReplay?.(transaction, input as never, outcome);
      return outcome;
    }
    const success = repeatableResponses[operationId];
    const result = toResult({ success }, await runAlone(unit, transaction, input));
    await transaction.storedResponses.keep([toStoredResponse(result, once, at)], at - retentionMs);
    return { ...result, isReplayed: false };
  };
  return { writes, writesFor, run };
}

/**
 * Processes concurrent requests as one batch: looks up all stored responses, runs the unit of work once, and stores all
 * responses. Only for operations that never throw an `ApiError`.
 */
export function createIdempotentBatch<Input>(operationId: RepeatableId, unit: BatchOfWork<Input>) {
  type RepeatableRequest = OnceAt & { readonly input: Input };
  const all = async (
    transaction: Transaction,
    requests: readonly RepeatableRequest[],
  ): Promise<IdempotentOutcome[]> => {
    const since = Math.min(...requests.map(({ at }) => at)) - retentionMs;
    const keys = requests.map(({ once }) => once);
    const found = await transaction.storedResponses.find(keys, since);
    const responses = new Map(
      found.flatMap((stored) => (stored === undefined ? [] : [[responseKeyText(stored), stored] as const])),
    );
    const first = new Map<string, RepeatableRequest>();
    for (const each of requests) {
      const name = responseKeyText(each.once);
      if (!responses.has(name) && !first.has(name)) first.set(name, each);
    }
    const done = [...first.values()];
    if (done.length > 0) {
      const success = repeatableResponses[operationId];
      const inputs = done.map(({ input }) => input);
      const outcomes = await unit.all(transaction, inputs);
      const newResponses = done.map(({ once, at }, index) => {
        return toStoredResponse(toResult({ success }, outcomes[index]), once, at);
      });
      await transaction.storedResponses.keep(newResponses, since);
      for (const response of newResponses) responses.set(responseKeyText(response), response);
    }
    return requests.map((each) => {
      const name = responseKeyText(each.once);
      const stored = responses.get(name) as StoredResponse;
      if (stored.request !== each.once.request) return 'idempotency_key_reused';
      return { ...toReplay(stored), isReplayed: first.get(name) !== each };
    });
  };
  return { writes: unit.writes, isSeveralCalls: true, all } as const;
}

function responseKeyText({ accountId, key }: ResponseKey): string {
  return `${accountId}:${key}`;
}

function toStoredResponse(
  { status, body, location }: Result,
  once: IdempotentRequest,
  keptAt: number,
): StoredResponse {
  return { ...once, status, body: body ?? null, location: location ?? null, keptAt };
}

function toReplay({ status, body, location }: StoredResponse): IdempotentResult {
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
