import type { Usage } from '../../../domain/limit.ts';
import { usedUp } from './account-counts.ts';

/** Two processes that read the same clock may be apart by this much; then the later one is right. */
const apartMs = 50;

/**
 * What an account used as it may be believed at `nowMs`: the same object, unless its record could not be read or the date
 * was set back while nobody served.
 */
export function believableUsage(usage: Usage | undefined, nowMs: number): Usage {
  const second = Math.floor(nowMs / 1_000);
  if (usage === undefined) return usedUp(second);
  return isToCome(usage, nowMs) ? opened(usage, second) : usage;
}

/** Now, but not before a window that another process opened a moment ago by a clock that is a little ahead. */
export function notBefore({ minute, day }: Usage, nowMs: number): number {
  return Math.max(nowMs, minute.openedAt * 1_000, day.openedAt * 1_000);
}

/** Whether a window is to begin yet. */
function isToCome({ minute, day }: Usage, nowMs: number): boolean {
  return Math.max(minute.openedAt, day.openedAt) * 1_000 > nowMs + apartMs;
}

/** What was used, in windows that begin at a second at the latest. */
function opened({ minute, day }: Usage, second: number): Usage {
  return {
    minute: { openedAt: Math.min(minute.openedAt, second), count: minute.count },
    day: { openedAt: Math.min(day.openedAt, second), count: day.count },
  };
}
