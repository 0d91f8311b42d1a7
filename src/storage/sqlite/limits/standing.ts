import type { Clock } from '../../../domain/clock.ts';
import {
  asDates,
  type BanRules,
  believableBan,
  noPenalty,
  standing,
  type Verdict,
} from '../../../domain/limit.ts';
import type { Caller } from '../../storage.ts';
import type { AccountCounts } from './account-counts.ts';
import { believableUsage, notBefore } from './believable-usage.ts';
import { type KeyPenalties, longestBan } from './key-penalties.ts';

/** How a caller stands, without counting. Who counts has the lock of the account's record. */
export function standingIn(
  accounts: AccountCounts,
  keys: KeyPenalties,
  { accountId, keyId, quota }: Pick<Caller, 'accountId' | 'keyId' | 'quota'>,
  clock: Clock,
  rules: BanRules,
): Verdict {
  const record = accounts.table.find(accountId);
  const keyRecord = keys.table.find(keyId);
  const steadyMs = clock.steady();
  const usage = believableUsage(accounts.read(record, accountId), steadyMs);
  const nowMs = notBefore(usage, steadyMs);
  const read = keyRecord === 0 ? noPenalty : keys.read(keyRecord, keyId);
  const penalty = read ?? longestBan(rules, nowMs);
  const bannedUntil = believableBan(penalty.bannedUntil, penalty.banLevel, rules, nowMs);
  return asDates(standing(usage, { ...penalty, bannedUntil }, quota, nowMs), clock.aheadSeconds);
}
