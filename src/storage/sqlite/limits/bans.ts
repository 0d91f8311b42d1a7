import type { Clock } from '../../../domain/clock.ts';
import { type BanRules, believableBan } from '../../../domain/limit.ts';
import type { Ban } from '../../storage.ts';
import type { KeyPenalties } from './key-penalties.ts';

/** The bans that have not ended; their ends are dates. Needs no lock. */
export function bansIn(keys: KeyPenalties, clock: Clock, rules: BanRules): Ban[] {
  const bans: Ban[] = [];
  const nowMs = clock.steady();
  keys.table.each((record, keyId) => {
    const ban = banOf(keys, record, keyId, rules, nowMs);
    if (ban !== undefined) bans.push({ ...ban, bannedUntil: ban.bannedUntil + clock.aheadSeconds });
  });
  return bans;
}

/** Ends a ban, for the next request of the key; false when there is none. Needs no lock. */
export function liftIn(keys: KeyPenalties, keyId: number, clock: Clock, rules: BanRules): boolean {
  const record = keys.table.find(keyId);
  if (record === 0) return false;
  const sequence = keys.sequence(record);
  if (banOf(keys, record, keyId, rules, clock.steady()) === undefined) return false;
  keys.lift(record, sequence);
  return true;
}

function banOf(
  keys: KeyPenalties,
  record: number,
  keyId: number,
  rules: BanRules,
  nowMs: number,
): Ban | undefined {
  if (keys.sequence(record) === 0) return undefined;
  const penalty = keys.read(record, keyId);
  if (penalty === undefined || nowMs >= penalty.bannedUntil * 1_000) return undefined;
  const { bannedUntil, banLevel: level } = penalty;
  return { keyId, bannedUntil: believableBan(bannedUntil, level, rules, nowMs), level };
}
