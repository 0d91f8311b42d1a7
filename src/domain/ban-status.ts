import { type BanRules, banSeconds, type KeyPenalty } from './limit.ts';

/** The bans of a key, and its strikes toward the next one. */
export interface BanStatus {
  /** Strikes within `BanRules.withinSeconds`. */
  readonly strikes: number;
  /** Number of consecutive bans, which determines the length of the next ban; 0 after they are forgiven. */
  readonly bans: number;
  /** The last ban, in Unix seconds. */
  readonly lastBan: { readonly from: number; readonly until: number } | undefined;
  readonly nextBanSeconds: number;
}

/** The strikes that still count. */
export function countedStrikes({ strikes }: KeyPenalty, rules: BanRules, nowMs: number): number {
  const since = nowMs - rules.withinSeconds * 1_000;
  return strikes.filter((at) => at >= since && at <= nowMs).length;
}

/** The status by the clock of the penalty. `aheadSeconds` converts its times to dates. */
export function banStatus(
  { bannedUntil, banLevel }: Pick<KeyPenalty, 'bannedUntil' | 'banLevel'>,
  strikes: number,
  rules: BanRules,
  nowMs: number,
  aheadSeconds = 0,
): BanStatus {
  const isForgiven = bannedUntil === 0 || nowMs >= (bannedUntil + rules.forgivenAfterSeconds) * 1_000;
  if (isForgiven) return { strikes, bans: 0, lastBan: undefined, nextBanSeconds: banSeconds(rules, 0) };
  const until = bannedUntil + aheadSeconds;
  return {
    strikes,
    bans: banLevel + 1,
    lastBan: { from: until - banSeconds(rules, banLevel), until },
    nextBanSeconds: banSeconds(rules, banLevel + 1),
  };
}
