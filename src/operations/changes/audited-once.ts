import { Refusal } from '../../contract/refusal.ts';
import type { Transaction, UnitOfWork } from '../../storage/transaction.ts';
import type { AuditedInput, auditedUnit } from './audited.ts';
import { retentionMs } from './once.ts';

interface StoredOnce {
  /** SHA-256 of the operator and the `Idempotency-Key`. */
  readonly key: string;
  readonly request: string;
  /** The secret issued by the change, encrypted with the `Idempotency-Key`; `null` if the change issues no secret. */
  readonly sealed: string | null;
}

interface AuditedOnceInput extends AuditedInput {
  readonly once: StoredOnce;
}

/**
 * The outcome of the unit of work and the secret issued with it. If the request was replayed, both are from the
 * original request.
 */
interface AuditedOnceOutcome {
  readonly outcome: unknown;
  readonly sealed: string | null;
  readonly isReplayed: boolean;
}

/** Responses to operators are stored in the same table as responses to clients, under an id that no account has. */
const operatorsId = 0;

/**
 * Applies and records an operator's change and stores its outcome, or returns the stored outcome of an earlier request.
 * A change that has no effect is not stored.
 */
export function auditedOnceUnit(audited: ReturnType<typeof auditedUnit>) {
  const run = async (
    transaction: Transaction,
    { once, ...input }: AuditedOnceInput,
  ): Promise<AuditedOnceOutcome> => {
    const since = input.at - retentionMs;
    const place = { accountId: operatorsId, key: once.key };
    const [kept] = await transaction.answers.find([place], since);
    if (kept !== undefined) {
      if (kept.request !== once.request) throw new Refusal('idempotency_key_reused');
      return { ...parsed(kept.body ?? ''), isReplayed: true };
    }
    const done = { outcome: await audited.run(transaction, input), sealed: once.sealed };
    if (done.outcome) {
      const answer = { ...place, request: once.request, status: 200, body: text(done) } as const;
      await transaction.answers.keep([{ ...answer, location: null, keptAt: input.at }], since);
    }
    return { ...done, isReplayed: false };
  };
  return { ...audited, run } satisfies UnitOfWork<AuditedOnceInput, AuditedOnceOutcome>;
}

type Done = Omit<AuditedOnceOutcome, 'isReplayed'>;

/** Encodes as JSON. A bigint becomes an object with an `int64` member, a name that no outcome uses. */
function text(done: Done): string {
  return JSON.stringify(done, (_name, value: unknown) =>
    typeof value === 'bigint' ? { int64: String(value) } : value,
  );
}

function parsed(json: string): Done {
  return JSON.parse(json, (_name, value: unknown) =>
    typeof value === 'object' && value !== null && 'int64' in value ? BigInt(String(value.int64)) : value,
  ) as Done;
}
