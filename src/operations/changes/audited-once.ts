import { Refusal } from '../../contract/refusal.ts';
import type { Transaction, UnitOfWork } from '../../storage/transaction.ts';
import type { AuditedInput, auditedUnit } from './audited.ts';
import { retentionMs } from './once.ts';

interface StoredOnce {
  /** SHA-256 of the operator and the `Idempotency-Key`. */
  readonly key: string;
  readonly request: string;
  /** The secret that the change issues, readable only with the `Idempotency-Key`; `null` when it issues none. */
  readonly sealed: string | null;
}

interface AuditedOnceInput extends AuditedInput {
  readonly once: StoredOnce;
}

/** The outcome of the unit, and the secret that was issued with it: now or, when replayed, by the first request. */
interface AuditedOnceOutcome {
  readonly outcome: unknown;
  readonly sealed: string | null;
  readonly isReplayed: boolean;
}

/** Responses for operators are stored in the table of those for accounts, under an id that no account has. */
const operatorsId = 0;

/**
 * Makes and records an operator's change and stores its outcome, or returns the stored one. A change without
 * effect is not stored.
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

/** JSON in which a bigint is an object of its digits; no outcome has such a member. */
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
