import type { Clock } from '../../domain/clock.ts';
import { StorageUnavailable } from '../../outages/errors.ts';
import { banStatus } from '../ban-status.ts';
import { type BanRules, noPenalty, noUsage, currentVerdict as standingOf, toUnixTimes } from '../limit.ts';
import type { Ban, LimitedCaller, Standing } from '../limit-store.ts';
import { AccountUsageTable } from './account-counts.ts';
import { SharedClockSteps } from './date-steps.ts';
import { KeyPenaltyTable, liftBan, listBans } from './key-penalties.ts';
import { format, header } from './layout.ts';
import type { LimitFile } from './limit-file.ts';
import { readLimitStatus } from './limit-status.ts';
import type { Limits } from './limits.ts';

/**
 * Limit state for commands that manage a store, possibly while the store is being served. Commands can show counts and
 * show or lift bans, but never count requests. The file is mapped only while a command needs it, because a starting
 * service may replace the file. `open` returns undefined if there is no file.
 */
export function createCommandLimits(
  open: () => LimitFile | undefined,
  clock: Clock,
  rules: BanRules,
): Limits {
  const withKeys = <T>(fallback: T, use: (keys: KeyPenaltyTable, file: LimitFile) => T): T => {
    using file = open();
    if (file === undefined) return fallback;
    if (!file.isSound || file.i32[header.format] !== format) return fallback;
    clock.share?.(new SharedClockSteps(file));
    return use(new KeyPenaltyTable(file), file);
  };
  /** Reads without a lock, so a concurrent change may or may not be included. */
  const standing = (caller: LimitedCaller): Standing => {
    const fullQuota = () => ({
      verdict: toUnixTimes(standingOf(noUsage, noPenalty, caller.quota, clock.steady()), clock.aheadSeconds),
      bans: banStatus(noPenalty, 0, rules, clock.steady()),
    });
    return (
      withKeys<Standing | undefined>(undefined, (keys, file) =>
        readLimitStatus(new AccountUsageTable(file), keys, caller, clock, rules),
      ) ?? fullQuota()
    );
  };
  const onlyServing = () => {
    throw new StorageUnavailable('only the service counts requests');
  };
  return {
    take: onlyServing,
    standing,
    refund: onlyServing,
    fail: onlyServing,
    peek: onlyServing,
    bans: () => withKeys<Ban[]>([], (keys) => listBans(keys, clock, rules)),
    lift: (keyId) => withKeys(false, (keys) => liftBan(keys, keyId, clock, rules)),
    trouble: undefined,
    expectIntact: () => undefined,
    freeLocksOf: () => undefined,
    close: async () => undefined,
  };
}
