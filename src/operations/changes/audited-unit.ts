import type { Awaitable } from '../../domain/awaitable.ts';
import type { Resource } from '../../domain/resources.ts';
import type { BatchOfWork, Transaction, UnitOfWork } from '../../storage/transaction.ts';
import { findStoredResponse, type IdempotentRequest, retentionMs, runAlone } from './idempotency.ts';

type Id = number | bigint;

interface Subject {
  readonly kind: string;
  /** The object's id in the input; undefined if the unit of work creates the object. */
  readonly of: (input: unknown) => Id | undefined;
  /** Whether the change is recorded even if it leaves the object unchanged. */
  readonly always?: true;
  /** The object as JSON, without secrets; `null` if it does not exist. */
  readonly read: (transaction: Transaction, id: Id) => Promise<string | null>;
  /** Returns the data that the change added, as JSON. It is recorded instead of the object. */
  readonly made?: (outcome: unknown) => string;
}

export interface AuditedUnit {
  readonly subject: Subject;
}

export type AuditedUnits = Readonly<Record<string, AuditedUnit & (UnitOfWork | BatchOfWork)>>;

export function defineSubject<T>(
  kind: string,
  find: (transaction: Transaction, id: Id) => Awaitable<T | undefined>,
  json: (object: T) => string,
) {
  const read: Subject['read'] = async (transaction, id) => {
    const object = await find(transaction, id);
    return object === undefined ? null : json(object);
  };
  const by = (of: Subject['of']): Subject => ({ kind, of, read });
  return {
    /** For units that create the object: its id is in the outcome, not in the input. */
    made: by(() => undefined),
    byId: by((input) => (input as { readonly id: Id }).id),
    byParam: (name: string) =>
      by((input) => (input as { readonly params: Readonly<Record<string, Id>> }).params[name]),
    by,
  };
}

interface AuditedInput {
  readonly unit: string;
  readonly input: unknown;
  readonly actor: string;
  /** Unix ms. */
  readonly at: number;
  /** A request with an `Idempotency-Key`. `at` is the store's time (`Clock.storeTime`). */
  readonly once?: (IdempotentRequest & Sealed & { readonly at: number }) | undefined;
}

interface Sealed {
  /** The secret issued by the change, encrypted with the `Idempotency-Key`; `null` if the change issues no secret. */
  readonly sealed: string | null;
}

/**
 * The outcome of the unit of work and the secret issued with it. If the request was replayed, both are from the
 * original request.
 */
interface AuditedOutcome extends Sealed {
  readonly outcome: unknown;
  readonly isReplayed: boolean;
}

/**
 * Runs a unit of work and appends the change to the audit log, in one transaction, or returns the stored outcome of an
 * earlier request with the same `Idempotency-Key`. A change that has no effect is neither recorded nor stored.
 */
export function createAuditedUnit(units: AuditedUnits) {
  const writes = [...new Set(Object.values(units).flatMap((unit) => unit.writes))];
  /** Defaults to `callers`, because the transaction must lock the object before reading it. */
  const writesFor = ({ unit }: AuditedInput): readonly Resource[] => {
    const own = units[unit]?.writes ?? [];
    return own.length > 0 ? own : ['callers'];
  };
  const run = async (
    transaction: Transaction,
    { once: request, ...change }: AuditedInput,
  ): Promise<AuditedOutcome> => {
    const apply = () => applyAndRecord(units, transaction, change);
    if (request === undefined) return { outcome: await apply(), sealed: null, isReplayed: false };
    const { sealed, at, ...once } = request;
    const stored = await findStoredResponse(transaction, once, at);
    if (stored !== undefined) return { ...decodeOutcome(stored.body ?? ''), isReplayed: true };
    const done = { outcome: await apply(), sealed };
    if (done.outcome) {
      const response = {
        ...once,
        status: 200,
        body: encodeOutcome(done),
        location: null,
        keptAt: at,
      } as const;
      await transaction.storedResponses.keep([response], at - retentionMs);
    }
    return { ...done, isReplayed: false };
  };
  return { writes, writesFor, run } satisfies UnitOfWork<AuditedInput, AuditedOutcome>;
}

async function applyAndRecord(
  units: AuditedUnits,
  transaction: Transaction,
  { unit: name, input, actor, at }: Omit<AuditedInput, 'once'>,
): Promise<unknown> {
  const unit = units[name];
  if (unit === undefined) throw new Error('Unknown unit of work.');
  const { kind, of, read, always, made } = unit.subject;
  const known = of(input);
  const before = known === undefined || made ? null : await read(transaction, known);
  const outcome = await runAlone(unit, transaction, input);
  const id = known ?? (outcome as { readonly id: Id } | undefined)?.id;
  if (id === undefined) return outcome;
  const after = made ? made(outcome) : await read(transaction, id);
  if (before === after && !always) return outcome;
  await transaction.audit.add({ at, actor, operation: name, object: `${kind}:${id}`, before, after });
  return outcome;
}

type StoredOutcome = Omit<AuditedOutcome, 'isReplayed'>;

/** Encodes as JSON. A bigint becomes an object with an `int64` member, a name that no outcome uses. */
function encodeOutcome(done: StoredOutcome): string {
  return JSON.stringify(done, (_name, value: unknown) =>
    typeof value === 'bigint' ? { int64: String(value) } : value,
  );
}

function decodeOutcome(json: string): StoredOutcome {
  return JSON.parse(json, (_name, value: unknown) =>
    typeof value === 'object' && value !== null && 'int64' in value ? BigInt(String(value.int64)) : value,
  ) as StoredOutcome;
}
