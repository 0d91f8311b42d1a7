/** What the scripts answer, as the rest of the service has it. */
import { type Usage, unused, type Window } from '../../domain/limit.ts';
import type { AccountBan } from './snapshot-store.ts';

/** When the minute opened, its count, when the day opened, its count. */
export function usageOf(windows: readonly number[]): Usage {
  const [minuteOpened = 0, minuteCount = 0, dayOpened = 0, dayCount = 0] = windows;
  return {
    minute: { openedAt: minuteOpened, count: minuteCount },
    day: { openedAt: dayOpened, count: dayCount },
  };
}

/** Of each ban "key:account:level", and its end. */
export function bansOf(answer: unknown): AccountBan[] {
  const words = answer as readonly string[];
  const bans: AccountBan[] = [];
  for (let index = 0; index < words.length; index += 2) {
    const [keyId = 0, accountId = 0, level = 0] = String(words[index]).split(':').map(Number);
    bans.push({ keyId, accountId, bannedUntil: Number(words[index + 1]), level });
  }
  return bans;
}

/** Only counted requests open windows. */
export function withoutUnopened({ minute, day }: Usage): Usage {
  const opened = (window: Window) => (window.count > 0 ? window : unused.minute);
  return { minute: opened(minute), day: opened(day) };
}
