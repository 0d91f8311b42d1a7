import { type BanRules, believableBan, type KeyPenalty, type Usage, usageAt } from '../domain/limit.ts';
import type { Standing } from './storage.ts';

/** What the rules take into account of how a caller stands, in steady time. */
export interface LimitState {
  readonly usage: Usage;
  readonly penalty: KeyPenalty;
}

/** How a caller stands at `nowMs`, its instants as dates; `aheadSeconds` is the clock's. */
export function standingOf(
  { usage, penalty }: LimitState,
  rules: BanRules,
  nowMs: number,
  aheadSeconds: number,
): Standing {
  const { minute, day } = usageAt(usage, nowMs);
  const bannedUntil = believableBan(penalty.bannedUntil, penalty.banLevel, rules, nowMs);
  return {
    now: nowMs + aheadSeconds * 1_000,
    usage: {
      minute: { openedAt: minute.openedAt + aheadSeconds, count: minute.count },
      day: { openedAt: day.openedAt + aheadSeconds, count: day.count },
    },
    bannedUntil: nowMs < bannedUntil * 1_000 ? bannedUntil + aheadSeconds : 0,
  };
}
