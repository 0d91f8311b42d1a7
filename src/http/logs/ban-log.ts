import type { Logger } from 'pino';
import type { Authenticated } from '../../operations/admission/admission.ts';

/** Logs the ban that a request caused. Other workers and instances only reject requests during the ban. */
export function logBan(
  log: Logger,
  { caller: { keyId, accountId }, verdict: { resetAt } }: Authenticated,
): void {
  const until = new Date(resetAt * 1_000).toISOString();
  log.info({ key: keyId, account: accountId, until }, 'API key banned');
}
