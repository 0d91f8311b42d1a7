import type { WindowState } from '../domain/limit.ts';
import type { ReadersOf } from './readers.ts';

/** What clients read of their own limits. */
export const rateLimitReaders: ReadersOf<'getRateLimit'> = {
  getRateLimit: (_store, _input, { caller, verdict }) => ({
    plan: caller.plan,
    minute: shown(verdict.minute),
    day: shown(verdict.day),
    bannedUntil: verdict.refusal === 'api_key_banned' ? instant(verdict.resetAt) : null,
  }),
};

function shown({ limit, remaining, resetAt }: WindowState) {
  return { limit, remaining, resetAt: instant(resetAt) };
}

function instant(seconds: number): string {
  return new Date(seconds * 1_000).toISOString();
}
