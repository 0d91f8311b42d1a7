import type { Clock } from '../../../domain/clock.ts';
import type { BanRules } from '../../../domain/limit.ts';
import { type Ban, StorageUnavailable } from '../../storage.ts';
import { bansIn, liftIn } from './bans.ts';
import { SharedDateSteps } from './date-steps.ts';
import { KeyPenalties } from './key-penalties.ts';
import { format, header } from './layout.ts';
import type { LimitFile } from './limit-file.ts';
import type { Limits } from './limits.ts';

/**
 * Limit state for who manages a store, be it served meanwhile or not: bans, and no counts. The file is mapped for as long
 * as a command needs it, for the service may replace it when it starts. `open` returns undefined when there is none.
 */
export function limitsBeside(open: () => LimitFile | undefined, clock: Clock, rules: BanRules): Limits {
  const withKeys = <T>(none: T, use: (keys: KeyPenalties) => T): T => {
    using file = open();
    if (file === undefined) return none;
    if (!file.isSound || file.i32[header.format] !== format) return none;
    clock.share?.(new SharedDateSteps(file));
    return use(new KeyPenalties(file));
  };
  const onlyServing = () => {
    throw new StorageUnavailable('only the service counts requests');
  };
  return {
    take: onlyServing,
    standing: onlyServing,
    refund: onlyServing,
    fail: onlyServing,
    peek: onlyServing,
    bans: () => withKeys<Ban[]>([], (keys) => bansIn(keys, clock, rules)),
    lift: (keyId) => withKeys(false, (keys) => liftIn(keys, keyId, clock, rules)),
    trouble: undefined,
    freeLocksOf: () => undefined,
    close: async () => undefined,
  };
}
