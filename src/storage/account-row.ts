import { type PlanName, type Quota, quotaOf } from '../domain/plan.ts';
import type { Account } from './storage.ts';

/** What both dialects of SQL store of a quota; `null` unless the plan is `enterprise`. */
export interface QuotaColumns {
  readonly plan: PlanName;
  readonly perMinute: bigint | null;
  readonly perDay: bigint | null;
}

/** An account as SQL gives it, in either dialect: integers are `bigint`. */
export interface AccountRow extends QuotaColumns {
  readonly id: bigint;
  readonly name: string;
  readonly createdAt: bigint;
  readonly closedAt: bigint | null;
}

/** The quota a row stands for: the plan's own, or what an enterprise account brings. */
export function quotaOfRow({ plan, perMinute, perDay }: QuotaColumns): Quota {
  if (perMinute === null || perDay === null) return quotaOf(plan).quota;
  return { perMinute: Number(perMinute), perDay: Number(perDay) };
}

/** What is stored of a quota, per minute and per day: only an enterprise account has its own. */
export function customQuota(plan: PlanName, quota: Quota): [number | null, number | null] {
  return plan === 'enterprise' ? [quota.perMinute, quota.perDay] : [null, null];
}

export function accountOfRow(row: AccountRow): Account {
  const { name, plan } = row;
  return {
    id: Number(row.id),
    name,
    plan,
    quota: quotaOfRow(row),
    createdAt: Number(row.createdAt),
    closedAt: row.closedAt === null ? null : Number(row.closedAt),
  };
}

/** A name as it is searched and sorted: upper and lower case, and the ways to write one character, are alike. */
export function folded(name: string): string {
  return name.normalize('NFKC').toLowerCase();
}
