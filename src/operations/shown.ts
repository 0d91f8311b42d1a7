/** Converts stored objects to the types of the admin API, with times as text and without secrets. */

import type { AccountLimits, Account as ShownAccount } from '../contract/admin/accounts.ts';
import type { AuditEntryRow } from '../contract/admin/audit.ts';
import type { Operator as ShownOperator } from '../contract/admin/operators.ts';
import type { Verdict, WindowState } from '../limits/limit.ts';
import type { Account, Key } from '../tables/accounts.ts';
import type { AuditEntry, Operator } from '../tables/operators.ts';

export function iso(ms: number): string {
  return new Date(ms).toISOString();
}

export function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : iso(ms);
}

export function shownAccount({ quota, createdAt, closedAt, note, ...account }: Account): ShownAccount {
  return { ...account, ...quota, createdAt: iso(createdAt), closedAt: isoOrNull(closedAt), note };
}

export function storedKey({ scopes, createdAt, expiresAt, revokedAt, successorId, ...key }: Key) {
  return {
    ...key,
    scopes: [...scopes],
    createdAt: iso(createdAt),
    expiresAt: isoOrNull(expiresAt),
    revokedAt: isoOrNull(revokedAt),
    successorId,
  };
}

export function shownOperator({ createdAt, revokedAt, ...operator }: Operator): ShownOperator {
  return { ...operator, createdAt: iso(createdAt), revokedAt: isoOrNull(revokedAt) };
}

export function shownLimits({ minute, day }: Verdict): AccountLimits {
  return { minute: shownWindow(minute), day: shownWindow(day) };
}

/** A window without counted requests has not opened, so it has no reset time. */
function shownWindow({ limit, remaining, resetAt }: WindowState) {
  const used = limit - remaining;
  return { limit, used, resetAt: used === 0 ? null : iso(resetAt * 1_000) };
}

export function shownEntry({ id, at, ...entry }: AuditEntry): AuditEntryRow {
  return { id: Number(id), at: iso(at), ...entry };
}
