import type { Clock } from '../../domain/clock.ts';
import { banStatus, countStrikes } from '../ban-status.ts';
import { type BanRules, capBan, currentVerdict, noPenalty, toUnixTimes, type Usage } from '../limit.ts';
import type { LimitedCaller, Standing } from '../limit-store.ts';
import { type AccountUsageTable, exhaustedUsage } from './account-counts.ts';
import { type KeyPenaltyTable, longestBan } from './key-penalties.ts';

/** Maximum difference between the current times of two processes on the same machine. The later time is used. */
const toleranceMs = 50;

/**
 * Returns a caller's standing without counting a request. A process that counts requests must hold the lock of the
 * account's record.
 */
export function readLimitStatus(
  accounts: AccountUsageTable,
  keys: KeyPenaltyTable,
  { accountId, keyId, quota }: LimitedCaller,
  clock: Clock,
  rules: BanRules,
): Standing {
  const record = accounts.table.find(accountId);
  const keyRecord = keys.table.find(keyId);
  const steadyMs = clock.steady();
  const usage = sanitizeUsage(accounts.read(record, accountId), steadyMs);
  const nowMs = effectiveNowMs(usage, steadyMs);
  const read = keyRecord === 0 ? noPenalty : keys.read(keyRecord, keyId);
  const penalty = read ?? longestBan(rules, nowMs);
  const bannedUntil = capBan(penalty.bannedUntil, penalty.banLevel, rules, nowMs);
  const plausible = { ...penalty, bannedUntil };
  const { aheadSeconds } = clock;
  return {
    verdict: toUnixTimes(currentVerdict(usage, plausible, quota, nowMs), aheadSeconds),
    bans: banStatus(plausible, countStrikes(plausible, rules, nowMs), rules, nowMs, aheadSeconds),
  };
}

/**
 * Returns exhausted windows if `usage` is undefined because its record is damaged. If the clock was set back while the
 * service was stopped, windows that would open in the future open now. Otherwise, returns `usage`.
 */
export function sanitizeUsage(usage: Usage | undefined, nowMs: number): Usage {
  const second = Math.floor(nowMs / 1_000);
  if (usage === undefined) return exhaustedUsage(second);
  return isInFuture(usage, nowMs) ? capOpeningTimes(usage, second) : usage;
}

/**
 * The current time, or a window's opening time if it is later, because the clock of the process that opened the window
 * may be slightly ahead.
 */
export function effectiveNowMs({ minute, day }: Usage, nowMs: number): number {
  return Math.max(nowMs, minute.openedAt * 1_000, day.openedAt * 1_000);
}

function isInFuture({ minute, day }: Usage, nowMs: number): boolean {
  return Math.max(minute.openedAt, day.openedAt) * 1_000 > nowMs + toleranceMs;
}

/** Returns the usage, with later opening times set to this second. */
function capOpeningTimes({ minute, day }: Usage, second: number): Usage {
  return {
    minute: { openedAt: Math.min(minute.openedAt, second), count: minute.count },
    day: { openedAt: Math.min(day.openedAt, second), count: day.count },
  };
}
