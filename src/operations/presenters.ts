/** Converts stored objects to the types of the admin API, with times as text and without secrets. */

import type { AccountLimits, Account as AccountView } from '../contract/admin/accounts.ts';
import type { AuditEntryRow } from '../contract/admin/audit.ts';
import type { Operator as OperatorView } from '../contract/admin/operators.ts';
import type { Verdict, WindowState } from '../limits/limit.ts';
import type { Account, Key } from '../tables/accounts.ts';
import type { AuditEntry, Operator } from '../tables/operators.ts';

export function toIso(ms: number): string {
  return new Date(ms).toISOString();
}

export function toIsoOrNull(ms: number | null): string | null {
  return ms === null ? null : toIso(ms);
}

export function presentAccount({ quota, createdAt, closedAt, note, ...account }: Account): AccountView {
  return { ...account, ...quota, createdAt: toIso(createdAt), closedAt: toIsoOrNull(closedAt), note };
}

export function toAuditedKey({ scopes, createdAt, expiresAt, revokedAt, successorId, ...key }: Key) {
  return {
    ...key,
    scopes: [...scopes],
    createdAt: toIso(createdAt),
    expiresAt: toIsoOrNull(expiresAt),
    revokedAt: toIsoOrNull(revokedAt),
    successorId,
  };
}

export function presentOperator({ createdAt, revokedAt, ...operator }: Operator): OperatorView {
  return { ...operator, createdAt: toIso(createdAt), revokedAt: toIsoOrNull(revokedAt) };
}

export function presentLimits({ minute, day }: Verdict): AccountLimits {
  return { minute: presentWindow(minute), day: presentWindow(day) };
}

/** A window without counted requests has not opened, so it has no reset time. */
function presentWindow({ limit, remaining, resetAt }: WindowState) {
  const used = limit - remaining;
  return { limit, used, resetAt: used === 0 ? null : toIso(resetAt * 1_000) };
}

export function presentEntry({ id, at, ...entry }: AuditEntry): AuditEntryRow {
  return { id: Number(id), at: toIso(at), ...entry };
}
