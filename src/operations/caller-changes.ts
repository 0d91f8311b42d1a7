import type { Caller } from '../storage/storage.ts';

/** What an operator changed about a key or its account, as the service sees it when the key is used next. */
export interface CallerChange {
  readonly message: string;
  readonly fields: Readonly<Record<string, number | string | null>>;
}

/** How a caller differs from what it was; undefined `after` when its key is no longer valid. */
export function callerChanges(before: Caller, after: Caller | undefined): CallerChange[] {
  const key = { key: before.keyId, account: before.accountId };
  if (after === undefined) return [{ message: 'API key revoked', fields: key }];
  const changes: CallerChange[] = [];
  if (after.expiresAt !== before.expiresAt) {
    const expiresAt = Number.isFinite(after.expiresAt) ? new Date(after.expiresAt).toISOString() : null;
    changes.push({ message: 'API key expiry changed', fields: { ...key, expiresAt } });
  }
  const { perMinute, perDay } = after.quota;
  if (perMinute !== before.quota.perMinute || perDay !== before.quota.perDay) {
    changes.push({ message: 'account limits changed', fields: { account: key.account, perMinute, perDay } });
  }
  return changes;
}
