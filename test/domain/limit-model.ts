/**
 * A simple, slow reference implementation of the rules in contract section 6. It keeps no counts and derives everything
 * from the request log. It assumes that the clock is never set back.
 */

import type { Quota } from '../../src/domain/plan.ts';
import type { BanRules, LimitErrorCode } from '../../src/limits/limit.ts';

/** A request with its response. */
interface Entry {
  readonly atMs: number;
  readonly key: number;
  readonly errorCode: LimitErrorCode | undefined;
  readonly retryAfterSeconds: number;
}

interface Ban {
  readonly until: number;
  readonly level: number;
}

export interface Expected {
  readonly errorCode: LimitErrorCode | undefined;
  readonly limit: number;
  readonly remaining: number;
  readonly resetAt: number;
  readonly retryAfterSeconds: number;
}

interface ExpectedWindow {
  readonly limit: number;
  readonly remaining: number;
  readonly resetAt: number;
}

export class LimitModel {
  readonly #rules: BanRules;
  readonly #log: Entry[] = [];
  readonly #bans = new Map<number, Ban>();

  constructor(rules: BanRules) {
    this.#rules = rules;
  }

  /** Returns the expected response to a request and records it. */
  request(key: number, quota: Quota, nowMs: number): Expected {
    const ban = this.#bans.get(key);
    const answer =
      ban !== undefined && nowMs < ban.until * 1_000
        ? bannedUntil(ban.until, quota, nowMs)
        : this.#withoutBan(key, quota, nowMs);
    this.#log.push({ atMs: nowMs, key, ...answer });
    return answer;
  }

  /** The window, derived from the request log. */
  window(seconds: number, limit: number, nowMs: number): ExpectedWindow {
    let opened = Number.NEGATIVE_INFINITY;
    let count = 0;
    for (const { atMs, errorCode } of this.#log) {
      if (errorCode !== undefined) continue;
      if (atMs >= (opened + seconds) * 1_000) {
        opened = Math.floor(atMs / 1_000);
        count = 0;
      }
      count++;
    }
    if (nowMs >= (opened + seconds) * 1_000) {
      return { limit, remaining: limit, resetAt: Math.floor(nowMs / 1_000) + seconds };
    }
    return { limit, remaining: Math.max(0, limit - count), resetAt: opened + seconds };
  }

  #withoutBan(key: number, quota: Quota, nowMs: number): Expected {
    const minute = this.window(60, quota.perMinute, nowMs);
    const day = this.window(86_400, quota.perDay, nowMs);
    if (minute.remaining > 0 && day.remaining > 0) return this.#admitted(quota, nowMs);
    const [last] = [day, minute]
      .filter(({ remaining }) => remaining === 0)
      .sort((a, b) => b.resetAt - a.resetAt);
    if (last === undefined) throw new Error('a rejection needs an exhausted window');
    if (this.#isLastStrike(key, nowMs)) {
      const until = this.#ban(key, nowMs);
      if (nowMs < until * 1_000) return bannedUntil(until, quota, nowMs);
    }
    return {
      errorCode: last === day ? 'daily_quota_exceeded' : 'rate_limit_exceeded',
      ...last,
      retryAfterSeconds: Math.ceil((last.resetAt * 1_000 - nowMs) / 1_000),
    };
  }

  #admitted(quota: Quota, nowMs: number): Expected {
    this.#log.push({ atMs: nowMs, key: -1, errorCode: undefined, retryAfterSeconds: 0 });
    const windows = [this.window(86_400, quota.perDay, nowMs), this.window(60, quota.perMinute, nowMs)];
    this.#log.pop();
    const [binding] = windows.sort((a, b) => a.remaining - b.remaining || b.resetAt - a.resetAt);
    if (binding === undefined) throw new Error('there are two windows');
    return { errorCode: undefined, ...binding, retryAfterSeconds: 0 };
  }

  /** True if a rejection now would cause a ban. */
  #isLastStrike(key: number, nowMs: number): boolean {
    const strikes = this.#strikes(key, nowMs);
    const since = nowMs - this.#rules.withinSeconds * 1_000;
    return strikes.at(-1) === nowMs && strikes.filter((at) => at >= since).length >= this.#rules.strikes;
  }

  /** Times of the key's strikes since its last ban, including a rejection now. */
  #strikes(key: number, nowMs: number): number[] {
    const strikes: number[] = [];
    let episode: Entry | undefined;
    for (const entry of [
      ...this.#log,
      { atMs: nowMs, key, errorCode: 'next' as const, retryAfterSeconds: 0 },
    ]) {
      if (entry.key !== key) continue;
      if (entry.errorCode === 'api_key_banned') strikes.length = 0;
      if (entry.errorCode === undefined || entry.errorCode === 'api_key_banned') {
        episode = undefined;
      } else if (episode === undefined || entry.atMs >= episode.atMs + episode.retryAfterSeconds * 1_000) {
        episode = entry as Entry;
      } else if (entry.atMs >= episode.atMs + 1_000) {
        strikes.push(entry.atMs);
      }
    }
    return strikes;
  }

  #ban(key: number, nowMs: number): number {
    const now = Math.floor(nowMs / 1_000);
    const last = this.#bans.get(key);
    const level =
      last !== undefined && now - last.until < this.#rules.forgivenAfterSeconds ? last.level + 1 : 0;
    let seconds = this.#rules.firstBanSeconds;
    for (let doubled = 0; doubled < level; doubled++) seconds += seconds;
    const until = now + Math.min(seconds, this.#rules.longestBanSeconds);
    this.#bans.set(key, { until, level });
    return until;
  }
}

function bannedUntil(until: number, quota: Quota, nowMs: number): Expected {
  return {
    errorCode: 'api_key_banned',
    limit: quota.perMinute,
    remaining: 0,
    resetAt: until,
    retryAfterSeconds: Math.ceil((until * 1_000 - nowMs) / 1_000),
  };
}
