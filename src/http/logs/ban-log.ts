import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { atMost } from '../../domain/bounded.ts';
import type { Authenticated } from '../../operations/admission/admission.ts';

const heldBans = 10_000;

/** Returns a function that logs each ban once, when the first request is refused because of it. */
export function banLog(log: Logger): (refused: Authenticated) => void {
  /** End of each key's most recently logged ban (Unix seconds), by key id. */
  const logged = new LRUCache<number, number>(atMost(heldBans));
  return ({ caller: { keyId, accountId }, verdict: { resetAt } }) => {
    if (logged.get(keyId) === resetAt) return;
    logged.set(keyId, resetAt);
    const until = new Date(resetAt * 1_000).toISOString();
    log.info({ key: keyId, account: accountId, until }, 'API key banned');
  };
}
