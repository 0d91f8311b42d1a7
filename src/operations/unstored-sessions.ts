import { LRUCache } from 'lru-cache';
import { atMost } from '../domain/bounded.ts';
import type { Session } from '../storage/admin.ts';

/** Sessions that are remembered. Beyond that, those that were not used for longest are forgotten. */
const most = 1_000;

/** A session that the store could not take. */
export interface UnstoredSession extends Session {
  /** SHA-256 of its operator's token; undefined for a code. The session ends with the token. */
  readonly tokenFingerprint: string | undefined;
}

/**
 * Sessions that the store could not write, for example on a full disk: new ones, and ends of stored ones. They are kept in this
 * process until it stops.
 */
export class UnstoredSessions {
  readonly #sessions = new LRUCache<string, UnstoredSession>(atMost(most));
  readonly #ended = new LRUCache<string, true>(atMost(most));

  add(session: UnstoredSession): void {
    this.#sessions.set(session.fingerprint, session);
  }

  find(fingerprint: string): UnstoredSession | undefined {
    return this.#sessions.get(fingerprint);
  }

  /** Ends a session that is only here; tells whether there was one. */
  remove(fingerprint: string): boolean {
    return this.#sessions.delete(fingerprint);
  }

  /** Ends a session that the store has and cannot remove. */
  end(fingerprint: string): void {
    this.#ended.set(fingerprint, true);
  }

  hasEnded(fingerprint: string): boolean {
    return this.#ended.has(fingerprint);
  }
}
