import type { rateLimitOperations } from '../../contract/rate-limit.ts';
import type { WindowState } from '../../limits/limit.ts';
import type { Authenticated } from '../admission/admission.ts';
import type { OperationReaders } from './rows.ts';

export const rateLimitReaders: OperationReaders<typeof rateLimitOperations, [Authenticated]> = {
  getRateLimit: (_store, _input, { caller, verdict }) => ({
    plan: caller.plan,
    minute: presentWindow(verdict.minute),
    day: presentWindow(verdict.day),
    bannedUntil: verdict.errorCode === 'api_key_banned' ? secondsToIso(verdict.resetAt) : null,
  }),
};

function presentWindow({ limit, remaining, resetAt }: WindowState) {
  return { limit, remaining, resetAt: secondsToIso(resetAt) };
}

function secondsToIso(seconds: number): string {
  return new Date(seconds * 1_000).toISOString();
}
