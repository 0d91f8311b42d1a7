import type { Ban, banOperations } from '../../contract/admin/bans.ts';
import { ApiError } from '../../contract/api-error.ts';
import { banSeconds } from '../../limits/limit.ts';
import { type OperatorContext, toAuditEntry } from '../changes/by-operator.ts';
import { expectFoundById } from '../errors.ts';
import { toIso } from '../presenters.ts';
import type { StoreHandlersOf } from './handlers.ts';
import { expectNumericId } from './ids.ts';

export const banHandlers = {
  listBans: ({ store }) => listBans(store),
  liftBan: (context, { params }) => liftBan(context, expectNumericId(params.keyId, 'ban_not_found')),
} satisfies StoreHandlersOf<OperatorContext, typeof banOperations>;

export async function listBans(store: OperatorContext['store']): Promise<Ban[]> {
  const bans = await store.limits.bans();
  const keys = mapById(await store.keys.findMany(bans.map(({ keyId }) => keyId)));
  const accountIds = new Set([...keys.values()].map(({ accountId }) => accountId));
  const accounts = mapById(await store.accounts.findMany([...accountIds]));
  const inOrder = bans.toSorted(
    (one, other) => one.bannedUntil - other.bannedUntil || one.keyId - other.keyId,
  );
  return inOrder.flatMap((ban) => {
    const key = keys.get(ban.keyId);
    const account = key && accounts.get(key.accountId);
    // After a restore, a ban may belong to a key that no longer exists.
    if (key === undefined || account === undefined) return [];
    const { keyId, bannedUntil, level } = ban;
    const bannedFrom = bannedUntil - banSeconds(store.limits.banRules, level);
    return {
      ...{ keyId, keyName: key.name, keyLastFour: key.lastFour },
      ...{ accountId: account.id, accountName: account.name },
      ...{ level, reason: banReason(level) },
      ...{ bannedFrom: toIso(bannedFrom * 1_000), bannedUntil: toIso(bannedUntil * 1_000) },
    };
  });
}

/**
 * Ends a key's ban and clears its strikes and ban level. Throws `ban_not_found`. Bans and the audit log are stored
 * separately, so the request is recorded before the change and the result after it. If the process ends or the store fails in
 * between, the log contains only the first entry, and the list of bans shows the result.
 */
export async function liftBan(context: OperatorContext, keyId: number): Promise<void> {
  const { limits } = context.store;
  const ban = (await limits.bans()).find((one) => one.keyId === keyId);
  const { bannedUntil, level } = expectFoundById(ban, 'ban_not_found', keyId);
  const before = JSON.stringify({ bannedUntil: toIso(bannedUntil * 1_000), level });
  const record = (operation: string, after: string | null) => {
    const entry = toAuditEntry(context, { operation, object: `key:${keyId}`, before, after });
    return context.store.write('recordAudit', entry);
  };
  await record('beginLiftBan', before);
  expectFoundById((await limits.lift(keyId)) || undefined, 'ban_not_found', keyId);
  try {
    await record('liftBan', null);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const message = 'The ban was lifted, but only the attempt is recorded in the audit log.';
    throw new ApiError(error.code, { message, cause: error.cause });
  }
}

function banReason(level: number): string {
  const what = 'Kept sending requests after 429 instead of waiting for Retry-After';
  if (level === 0) return `${what}.`;
  return `${what}, again after ${level === 1 ? 'an earlier ban' : `${level} earlier bans`}.`;
}

export function mapById<Item extends { readonly id: number }>(
  items: readonly Item[],
): ReadonlyMap<number, Item> {
  return new Map(items.map((item) => [item.id, item]));
}
