import { type Resource, resources, type Versions, versionsFrom } from '../domain/resources.ts';

/** Greatest age of cached data when Redis announces no change: versions from PostgreSQL are valid this long. */
export const staleAtMostMs = 1_000;

/** How often the versions are read from Redis and PostgreSQL while no request does, in ms. */
export const lookEveryMs = 250;

/**
 * The versions of this process, raised when Redis (with every counted request) or PostgreSQL (when polled) reports a
 * change. Both report the number PostgreSQL gave the change, so that it counts once. Any other number counts as a
 * change, even a smaller one: a server may have been restored from a backup.
 */
export class SharedVersions {
  #now = versionsFrom(() => 1);
  #redis = versionsFrom(() => -1);
  #postgres = versionsFrom(() => 0);
  /** When the versions of Redis last changed (`performance.now()`). */
  readonly #redisMoved: Record<Resource, number> = { ...versionsFrom(() => 0) };
  #askedAt = Number.NEGATIVE_INFINITY;
  #fallback = 0;

  /** The versions under which data read from here on may be cached. */
  get now(): Versions {
    return this.#now;
  }

  /** The last versions from Redis, which scripts compare with the current ones. */
  get redis(): Versions {
    return this.#redis;
  }

  get postgres(): Versions {
    return this.#postgres;
  }

  hearRedis(told: Versions): Versions {
    // The hot path of every request: almost always nothing has changed.
    if (resources.every((what) => told[what] === this.#redis[what])) return this.#now;
    for (const what of resources) {
      const before = this.#redis[what];
      if (told[what] === before) continue;
      this.#redisMoved[what] = performance.now();
      if (told[what] !== this.#postgres[what]) this.#rise(what);
    }
    this.#redis = told;
    return this.#now;
  }

  /** `askedAt` is the `performance.now()` before the query: it returned everything committed earlier. */
  hearPostgres(told: Versions, askedAt: number): void {
    this.#askedAt = askedAt;
    for (const what of resources) {
      const overtaken = told[what] < this.#redis[what] && this.#redisMoved[what] > askedAt;
      if (overtaken || told[what] === this.#postgres[what]) continue;
      this.#postgres = { ...this.#postgres, [what]: told[what] };
      if (told[what] !== this.#redis[what]) this.#rise(what);
    }
  }

  get isConfirmed(): boolean {
    return performance.now() - this.#askedAt < staleAtMostMs;
  }

  /**
   * The versions while Redis is down. That of callers comes from PostgreSQL, or is valid for a while after callers were
   * read; all others are never repeated, so that everything is read from the database.
   */
  fallback(): Versions {
    const never = -++this.#fallback;
    const callers = this.isConfirmed ? this.#now.callers : -Math.ceil(performance.now());
    return versionsFrom((resource) => (resource === 'callers' ? callers : never));
  }

  /** Whether a caller that was read under this version may be used while Redis is down. */
  isFresh(callersVersion: number): boolean {
    if (callersVersion < 0) return performance.now() + callersVersion < staleAtMostMs;
    return callersVersion === this.#now.callers && this.isConfirmed;
  }

  #rise(what: Resource): void {
    this.#now = { ...this.#now, [what]: this.#now[what] + 1 };
  }
}
