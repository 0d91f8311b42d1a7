import { mapVersions, type Versions } from '../../domain/resources.ts';
import { type KeyPenalty, noUsage, type Usage, type Window } from '../limit.ts';
import type { AccountBan } from '../snapshots.ts';

/** Reply to `take` and `standing`. If there is no decision, the reply ends after the versions. */
export type StateReply = readonly [kind: number, versions: readonly number[], ...state: number[]];

interface CallerState {
  readonly nowMs: number;
  readonly usage: Usage;
  /** Penalty without strike times, which stay in Redis. */
  readonly penalty: KeyPenalty;
  /** Offset of Redis' clock from Redis' monotonic time, in ms. */
  readonly aheadMs: number;
  /** The epoch of Redis' clock; undefined if it equals the epoch in the request. */
  readonly epoch: number | undefined;
  /** Number of current strikes; only in the reply to `standing`. */
  readonly strikes: number;
}

export function parseState([, , ...state]: StateReply): CallerState {
  const [nowMs = 0, ...rest] = state;
  const [episodeFrom = 0, episodeUntil = 0, bannedUntil = 0, banLevel = 0, aheadMs = 0, epoch, strikes = 0] =
    rest.slice(4);
  const penalty = { episodeFrom, episodeUntil, strikes: [], bannedUntil, banLevel };
  return { nowMs, usage: parseUsage(rest), penalty, aheadMs, epoch, strikes };
}

export function parseVersions(numbers: readonly number[]): Versions {
  return mapVersions((_resource, index) => numbers[index] ?? 0);
}

/** Parses the start and count of the minute, followed by the start and count of the day. */
export function parseUsage(windows: readonly number[]): Usage {
  const [minuteOpened = 0, minuteCount = 0, dayOpened = 0, dayCount = 0] = windows;
  return {
    minute: { openedAt: minuteOpened, count: minuteCount },
    day: { openedAt: dayOpened, count: dayCount },
  };
}

/** Parses a list in which each ban ("key:account:level") is followed by its end time. */
export function parseBans(reply: unknown): AccountBan[] {
  const words = reply as readonly string[];
  const bans: AccountBan[] = [];
  for (let index = 0; index < words.length; index += 2) {
    const [keyId = 0, accountId = 0, level = 0] = String(words[index]).split(':').map(Number);
    bans.push({ keyId, accountId, bannedUntil: Number(words[index + 1]), level });
  }
  return bans;
}

/** Treats windows with a count of zero as not open, because only counted requests open windows. */
export function closeEmptyWindows({ minute, day }: Usage): Usage {
  const opened = (window: Window) => (window.count > 0 ? window : noUsage.minute);
  return { minute: opened(minute), day: opened(day) };
}
