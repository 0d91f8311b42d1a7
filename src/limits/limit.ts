/**
 * Rate limiting: windows, strikes and bans, as pure functions of state and time. Stores keep the state and call these
 * functions. All times are monotonic (`Clock.steady`): in milliseconds if the name is `…Ms`, `episode…` or `strikes`,
 * and in seconds otherwise. `toUnixTimes` converts a verdict to Unix time.
 */
import type { Quota } from '../domain/plan.ts';

/** A fixed window that opened at a whole second. `openedAt` is 0 if the window never opened. */
export interface Window {
  readonly openedAt: number;
  readonly count: number;
}

export interface Usage {
  readonly minute: Window;
  readonly day: Window;
}

export interface KeyPenalty {
  /** Time of the first 429 of the current episode and end of its Retry-After, in ms; 0 if there is no episode. */
  readonly episodeFrom: number;
  readonly episodeUntil: number;
  /** Times of the counted strikes in ms, oldest first. */
  readonly strikes: readonly number[];
  readonly bannedUntil: number;
  /** Number of consecutive bans before the latest one. Each ban lasts twice as long as the one before it. */
  readonly banLevel: number;
}

export interface BanRules {
  readonly strikes: number;
  readonly withinSeconds: number;
  readonly firstBanSeconds: number;
  readonly longestBanSeconds: number;
  /** Time without a ban after which the level is reset. */
  readonly forgivenAfterSeconds: number;
}

export interface LimitRules {
  readonly ban: BanRules;
  readonly failuresPerMinute: number;
}

export interface WindowState {
  readonly limit: number;
  readonly remaining: number;
  readonly resetAt: number;
  readonly secondsLeft: number;
}

export type LimitErrorCode = 'rate_limit_exceeded' | 'daily_quota_exceeded' | 'api_key_banned';

export interface Verdict {
  /** Why the request is rejected; undefined if it is admitted. */
  readonly errorCode: LimitErrorCode | undefined;
  /** Whether this request caused the ban. */
  readonly isNewBan: boolean;
  /** The binding window, which the X-RateLimit headers show. */
  readonly limit: number;
  readonly remaining: number;
  readonly resetAt: number;
  readonly retryAfterSeconds: number;
  readonly minute: WindowState;
  readonly day: WindowState;
}

interface Decision {
  readonly verdict: Verdict;
  readonly usage: Usage;
  readonly penalty: KeyPenalty;
}

export const minuteSeconds = 60;
export const daySeconds = 86_400;

/**
 * Requests rejected within this time after the first 429 of an episode were probably in flight already, and are not
 * strikes.
 */
const strikeGraceMs = 1_000;

export const noUsage: Usage = { minute: { openedAt: 0, count: 0 }, day: { openedAt: 0, count: 0 } };
export const noPenalty: KeyPenalty = {
  episodeFrom: 0,
  episodeUntil: 0,
  strikes: [],
  bannedUntil: 0,
  banLevel: 0,
};

export const defaultBanRules: BanRules = {
  strikes: 100,
  withinSeconds: 600,
  firstBanSeconds: 120,
  longestBanSeconds: 86_400,
  forgivenAfterSeconds: 86_400,
};

/**
 * Decides on an authenticated request: checks the ban first, then both windows. Returns the same object if the state is
 * unchanged.
 */
export function decide(
  usage: Usage,
  penalty: KeyPenalty,
  quota: Quota,
  rules: BanRules,
  nowMs: number,
): Decision {
  const open = rollUsage(usage, nowMs);
  if (nowMs < penalty.bannedUntil * 1_000) {
    return { verdict: bannedVerdict(open, penalty, quota, nowMs), usage, penalty };
  }
  if (open.minute.count < quota.perMinute && open.day.count < quota.perDay) {
    const grown = { minute: incrementCount(open.minute), day: incrementCount(open.day) };
    const closed = penalty.episodeUntil === 0 ? penalty : { ...penalty, episodeFrom: 0, episodeUntil: 0 };
    return { verdict: admittedVerdict(grown, quota, nowMs), usage: grown, penalty: closed };
  }
  const verdict = exhaustedVerdict(open, quota, nowMs);
  const penalized = penalize(penalty, rules, verdict.retryAfterSeconds, nowMs);
  const keptUsage = keepUnopened(open, usage);
  if (nowMs < penalized.bannedUntil * 1_000) {
    return {
      verdict: bannedVerdict(open, penalized, quota, nowMs, true),
      usage: keptUsage,
      penalty: penalized,
    };
  }
  return { verdict, usage: keptUsage, penalty: penalized };
}

/** Refunds an admitted request that got a 503. A window that has ended in the meantime is left unchanged. */
export function refund(
  usage: Usage,
  taken: Verdict,
  quota: Quota,
  nowMs: number,
): { usage: Usage; verdict: Verdict } {
  const returned = {
    minute: decrementCount(usage.minute, taken.minute.resetAt - minuteSeconds),
    day: decrementCount(usage.day, taken.day.resetAt - daySeconds),
  };
  return { usage: returned, verdict: admittedVerdict(rollUsage(returned, nowMs), quota, nowMs) };
}

/** Counts a failed authentication against the client's address. Rejects attempts after `limit` failures in a minute. */
export function decideFailure(
  window: Window,
  limit: number,
  nowMs: number,
): { window: Window; state: WindowState; refused: boolean } {
  const open = rollWindow(window, minuteSeconds, nowMs);
  const refused = open.count >= limit;
  const after = refused ? open : incrementCount(open);
  return { window: after, state: toWindowState(after, limit, minuteSeconds, nowMs), refused };
}

/** The state of both windows at this time. An unchanged window is returned as the same object. */
function rollUsage(usage: Usage, nowMs: number): Usage {
  return {
    minute: rollWindow(usage.minute, minuteSeconds, nowMs),
    day: rollWindow(usage.day, daySeconds, nowMs),
  };
}

/** The current verdict, without counting a request: admitted with the remaining quota, or banned. */
export function currentVerdict(usage: Usage, penalty: KeyPenalty, quota: Quota, nowMs: number): Verdict {
  const open = rollUsage(usage, nowMs);
  return nowMs < penalty.bannedUntil * 1_000
    ? bannedVerdict(open, penalty, quota, nowMs)
    : admittedVerdict(open, quota, nowMs);
}

export function windowState(window: Window, limit: number, nowMs: number): WindowState {
  return toWindowState(rollWindow(window, minuteSeconds, nowMs), limit, minuteSeconds, nowMs);
}

/** The verdict in Unix time, converted with the `aheadSeconds` of a `Clock`. */
export function toUnixTimes(verdict: Verdict, aheadSeconds: number): Verdict {
  if (aheadSeconds === 0) return verdict;
  const { minute, day } = verdict;
  return {
    ...verdict,
    resetAt: verdict.resetAt + aheadSeconds,
    minute: toUnixTime(minute, aheadSeconds),
    day: toUnixTime(day, aheadSeconds),
  };
}

export function toUnixTime(state: WindowState, aheadSeconds: number): WindowState {
  return aheadSeconds === 0 ? state : { ...state, resetAt: state.resetAt + aheadSeconds };
}

/** Caps the end of a ban, which would be too late if the clock was set back. */
export function capBan(bannedUntil: number, banLevel: number, rules: BanRules, nowMs: number): number {
  return Math.min(bannedUntil, Math.floor(nowMs / 1_000) + banSeconds(rules, banLevel));
}

/** Whole seconds to wait, rounded up, so that a client waiting exactly this long is not rejected again. */
function secondsUntil(at: number, nowMs: number): number {
  return Math.max(1, Math.ceil(at - nowMs / 1_000));
}

/**
 * The state of a window at this time. A window that has ended is empty. If the clock was set back while the service was
 * stopped, a window that now starts in the future keeps its count.
 */
function rollWindow(window: Window, lengthSeconds: number, nowMs: number): Window {
  const now = Math.floor(nowMs / 1_000);
  if (now >= window.openedAt + lengthSeconds) return { openedAt: now, count: 0 };
  return window.openedAt > now ? { openedAt: now, count: window.count } : window;
}

function incrementCount(window: Window): Window {
  return { openedAt: window.openedAt, count: window.count + 1 };
}

function decrementCount(window: Window, openedAt: number): Window {
  return window.openedAt === openedAt ? { openedAt, count: Math.max(0, window.count - 1) } : window;
}

/** Only counted requests open a window; rejected requests do not. */
function keepUnopened(open: Usage, before: Usage): Usage {
  if (open.minute === before.minute && open.day === before.day) return before;
  return {
    minute: open.minute.count > 0 ? open.minute : before.minute,
    day: open.day.count > 0 ? open.day : before.day,
  };
}

function toWindowState(window: Window, limit: number, lengthSeconds: number, nowMs: number): WindowState {
  const resetAt = window.openedAt + lengthSeconds;
  const remaining = Math.max(0, limit - window.count);
  return { limit, remaining, resetAt, secondsLeft: secondsUntil(resetAt, nowMs) };
}

function toWindowStates(
  usage: Usage,
  quota: Quota,
  nowMs: number,
): { minute: WindowState; day: WindowState } {
  return {
    minute: toWindowState(usage.minute, quota.perMinute, minuteSeconds, nowMs),
    day: toWindowState(usage.day, quota.perDay, daySeconds, nowMs),
  };
}

/**
 * The verdict on an admitted request. The binding window is the one with fewer requests remaining or, on a tie, the one
 * that ends later.
 */
export function admittedVerdict(usage: Usage, quota: Quota, nowMs: number): Verdict {
  const { minute, day } = toWindowStates(usage, quota, nowMs);
  const dayBinds =
    day.remaining < minute.remaining || (day.remaining === minute.remaining && day.resetAt >= minute.resetAt);
  const { limit, remaining, resetAt } = dayBinds ? day : minute;
  return {
    errorCode: undefined,
    isNewBan: false,
    limit,
    remaining,
    resetAt,
    retryAfterSeconds: 0,
    minute,
    day,
  };
}

/** The verdict on a request over the limit. The binding window is the exhausted window that ends last. */
export function exhaustedVerdict(usage: Usage, quota: Quota, nowMs: number): Verdict {
  const { minute, day } = toWindowStates(usage, quota, nowMs);
  const dayBinds = day.remaining === 0 && (minute.remaining > 0 || day.resetAt >= minute.resetAt);
  const { limit, remaining, resetAt, secondsLeft } = dayBinds ? day : minute;
  const errorCode = dayBinds ? 'daily_quota_exceeded' : 'rate_limit_exceeded';
  return {
    errorCode,
    isNewBan: false,
    limit,
    remaining,
    resetAt,
    retryAfterSeconds: secondsLeft,
    minute,
    day,
  };
}

export function bannedVerdict(
  usage: Usage,
  penalty: KeyPenalty,
  quota: Quota,
  nowMs: number,
  isNewBan = false,
): Verdict {
  const resetAt = penalty.bannedUntil;
  const retryAfterSeconds = secondsUntil(resetAt, nowMs);
  const windows = toWindowStates(usage, quota, nowMs);
  return {
    errorCode: 'api_key_banned',
    isNewBan,
    limit: quota.perMinute,
    remaining: 0,
    resetAt,
    retryAfterSeconds,
    ...windows,
  };
}

/** The key's penalty after a rejected request, which may open an episode, add a strike or cause a ban. */
function penalize(
  penalty: KeyPenalty,
  rules: BanRules,
  retryAfterSeconds: number,
  nowMs: number,
): KeyPenalty {
  if (nowMs >= penalty.episodeUntil || nowMs < penalty.episodeFrom) {
    return { ...penalty, episodeFrom: nowMs, episodeUntil: nowMs + retryAfterSeconds * 1_000 };
  }
  if (nowMs < penalty.episodeFrom + strikeGraceMs) return penalty;
  const since = nowMs - rules.withinSeconds * 1_000;
  const strikes = [...penalty.strikes.filter((at) => at >= since && at <= nowMs), nowMs];
  return strikes.length < rules.strikes ? { ...penalty, strikes } : startBan(penalty, rules, nowMs);
}

function startBan(penalty: KeyPenalty, rules: BanRules, nowMs: number): KeyPenalty {
  const now = Math.floor(nowMs / 1_000);
  const repeated = penalty.bannedUntil > 0 && now < penalty.bannedUntil + rules.forgivenAfterSeconds;
  const banLevel = repeated ? penalty.banLevel + 1 : 0;
  return { ...noPenalty, bannedUntil: now + banSeconds(rules, banLevel), banLevel };
}

/** Length of a ban after `banLevel` consecutive bans. */
export function banSeconds({ firstBanSeconds, longestBanSeconds }: BanRules, banLevel: number): number {
  return Math.min(firstBanSeconds * 2 ** banLevel, longestBanSeconds);
}
