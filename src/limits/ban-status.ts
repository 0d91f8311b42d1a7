import { type BanRules, banSeconds, type KeyPenalty } from './limit.ts';

/** A key's bans, and its strikes toward the next ban. */
export interface BanStatus {
  /** Strikes within `BanRules.withinSeconds`. */
  readonly strikes: number;
  /**
   * Number of consecutive bans, which determines the length of the next one. Resets to 0 after `forgivenAfterSeconds`
   * without a ban.
   */
  readonly bans: number;
  /** The most recent ban, in Unix seconds. */
  readonly lastBan: { readonly from: number; readonly until: number } | undefined;
  readonly nextBanSeconds: number;
}

/** The strikes that still count toward a ban. */
export function countStrikes({ strikes }: KeyPenalty, rules: BanRules, nowMs: number): number {
  const since = nowMs - rules.withinSeconds * 1_000;
  return strikes.filter((at) => at >= since && at <= nowMs).length;
}

/**
 * The ban status at `nowMs`. Times in the penalty and `nowMs` are monotonic; adding `aheadSeconds` converts them to
 * Unix time.
 */
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
