import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { atMost } from '../../domain/bounded.ts';
import type { Authenticated } from '../../operations/admission/admission.ts';

const heldBans = 10_000;

/** Logs each ban once, when the first request is refused because of it. */
export class BanLog {
  readonly #log: Logger;
  /** End of each key's most recently logged ban (Unix seconds), by key id. */
  readonly #logged = new LRUCache<number, number>(atMost(heldBans));

  constructor(log: Logger) {
    this.#log = log;
  }

  refused({ caller: { keyId, accountId }, verdict: { resetAt } }: Authenticated): void {
    if (this.#logged.get(keyId) === resetAt) return;
    this.#logged.set(keyId, resetAt);
    const until = new Date(resetAt * 1_000).toISOString();
    this.#log.info({ key: keyId, account: accountId, until }, 'API key banned');
  }
}
