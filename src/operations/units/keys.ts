import { keyTagInput } from '../../contract/admin/key-tag.ts';
import { plans } from '../../domain/plan.ts';
import type { Scope } from '../../domain/scope.ts';
import type { FirstAccount } from '../../storage/storage.ts';
import type { Transaction, Units } from '../../storage/transaction.ts';
import type { Key, NewKey } from '../../tables/accounts.ts';
import { type AuditedUnits, defineSubject } from '../changes/audited-unit.ts';
import { checkPreconditions, type Preconditions } from '../changes/preconditions.ts';
import { expectFoundById, invalidMemberError } from '../errors.ts';
import { toAuditedKey } from '../presenters.ts';

const subject = defineSubject(
  'key',
  ({ keys }, id) => keys.find(Number(id)),
  (key) => JSON.stringify(toAuditedKey(key)),
);

interface Rotation {
  readonly oldId: number;
  readonly oldEndsAt: number;
  readonly successor: NewKey;
}

interface ScopesChange {
  readonly id: number;
  readonly scopes: readonly Scope[];
  readonly preconditions: Preconditions;
}

export const keyUnits = {
  createKey: {
    writes: ['callers'],
    subject: subject.made,
    run: ({ keys }: Transaction, key: NewKey) => {
      // Not checked earlier, so that a retry gets the stored response even if the key has expired since.
      if (key.expiresAt !== null && key.expiresAt <= key.createdAt)
        throw invalidMemberError('expiresAt', 'must be in the future');
      return keys.add(key);
    },
  },
  rotateKey: { writes: ['callers'], subject: subject.by((input) => (input as Rotation).oldId), run: rotate },
  setKeyScopes: { writes: ['callers'], subject: subject.byId, run: setScopes },
  revokeKey: { writes: ['callers'], subject: subject.byId, run: revoke },
} as const satisfies AuditedUnits;

/** Not audited, because the first key is not created by an operator. */
export const firstKeyUnits = {
  createFirstKey: { writes: ['callers'], run: createFirst },
} as const satisfies Units;

/**
 * Returns undefined if there is a key or another account. An account without a key is reused, because version 1.0 could
 * be interrupted after creating it.
 */
async function createFirst(
  { accounts, keys }: Transaction,
  { account, key }: { readonly account: FirstAccount; readonly key: Omit<NewKey, 'accountId'> },
): Promise<Key | undefined> {
  const [[anyKey], [only, ...others]] = [await keys.list(undefined, 1), await accounts.list(undefined, 2)];
  const isOurs = only === undefined || (only.name === account.name && only.plan === account.plan);
  if (anyKey !== undefined || !isOurs || others.length > 0) return undefined;
  const { id: accountId } = only ?? (await accounts.add({ ...account, quota: plans[account.plan] }));
  return keys.add({ ...key, accountId });
}

/**
 * The old key expires at `oldEndsAt` (Unix ms), unless it expires earlier. Returns undefined and changes nothing if the
 * old key is not active.
 */
async function rotate(
  { keys }: Transaction,
  { oldId, oldEndsAt, successor }: Rotation,
): Promise<Key | undefined> {
  const old = await keys.find(oldId);
  if (old === undefined || old.revokedAt !== null || old.successorId !== null) return undefined;
  const { expiresAt } = old;
  if (expiresAt !== null && expiresAt <= successor.createdAt) return undefined;
  const made = await keys.add(successor);
  const endsAt = expiresAt === null ? oldEndsAt : Math.min(expiresAt, oldEndsAt);
  await keys.update(oldId, { expiresAt: endsAt, successorId: made.id });
  return made;
}

/** Revoking a key twice keeps the first revocation time. Throws `key_not_found`. */
async function revoke({ keys }: Transaction, { id, at }: { id: number; at: number }): Promise<true> {
  const key = expectFoundById(await keys.find(id), 'key_not_found', id);
  await keys.update(id, { revokedAt: key.revokedAt ?? at });
  return true;
}

/** Throws `key_not_found`. */
async function setScopes({ keys }: Transaction, { id, scopes, preconditions }: ScopesChange): Promise<true> {
  const key = expectFoundById(await keys.find(id), 'key_not_found', id);
  checkPreconditions(preconditions, keyTagInput(toAuditedKey(key)));
  await keys.update(id, { scopes });
  return true;
}
