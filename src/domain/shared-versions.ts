import { RequiredVersions } from './required-versions.ts';
import { mapVersions, type Resource, resources, type Versions } from './resources.ts';

/** Maximum age of cached data if Redis announces no change, and how long versions read from PostgreSQL stay valid. */
export const maxStaleMs = 1_000;

/** Interval at which the versions are read from Redis and PostgreSQL, independently of requests. */
export const pollIntervalMs = 250;

/** The versions that a shard of Redis last reported. */
interface ReportedVersions {
  lastReported: Versions;
}

/**
 * The versions of this process. A version is raised when Redis or PostgreSQL reports a change. Redis reports changes in
 * its reply to every counted request, and PostgreSQL when it is polled. Both servers report the number that PostgreSQL
 * assigned to the change, so that each change counts exactly once. Changes to a resource are committed in the order of
 * their numbers, so a reported number covers all lower numbers. A number that decreases also counts as a change,
 * because it means that Redis lost its data or a server was restored from a backup. If a change's number is not higher
 * than the number in Redis, Redis increments its number by one instead. PostgreSQL's numbers are times in microseconds,
 * which leaves room for such increments.
 */
export class SharedVersions {
  readonly required = new RequiredVersions();
  #now = mapVersions(() => 1);
  #postgres = mapVersions(() => 0);
  /** The number of each resource's last counted change. */
  readonly #counted: Record<Resource, number> = { ...mapVersions(() => 0) };
  /** Time when Redis last raised the number (`performance.now()`). */
  readonly #redisRaised: Record<Resource, number> = { ...mapVersions(() => 0) };
  #askedAt = Number.NEGATIVE_INFINITY;
  #fallback = 0;

  /** The versions under which newly read data may be cached. */
  get now(): Versions {
    return this.#now;
  }

  get postgres(): Versions {
    return this.#postgres;
  }

  applyRedis(shard: ReportedVersions, reported: Versions): Versions {
    const { lastReported } = shard;
    // Runs for every request, and almost always finds no change.
    if (resources.every((what) => reported[what] === lastReported[what])) return this.#now;
    for (const what of resources) {
      const [before, now, counted] = [lastReported[what], reported[what], this.#counted[what]];
      // A smaller number is from a shard that lost its data and may lack the last changes.
      if (now !== before) this.required.raise(what, now > before ? now : 0);
      if (now === before || now === counted || (before < now && now < counted)) continue;
      if (now > counted) {
        this.#counted[what] = now;
        this.#redisRaised[what] = performance.now();
      }
      this.#raise(what);
    }
    shard.lastReported = reported;
    return this.#now;
  }

  /** `askedAt` is `performance.now()` before the query, so the query saw everything committed before that time. */
  applyPostgres(reported: Versions, askedAt: number): void {
    this.#askedAt = askedAt;
    for (const what of resources) {
      this.required.settle(what, reported[what], askedAt);
      const counted = this.#counted[what];
      const overtaken = reported[what] < counted && this.#redisRaised[what] > askedAt;
      if (overtaken || reported[what] === this.#postgres[what]) continue;
      this.#postgres = { ...this.#postgres, [what]: reported[what] };
      this.#counted[what] = reported[what];
      if (reported[what] !== counted) this.#raise(what);
    }
  }

  /** Invalidates all cached data. */
  raiseAll(): void {
    for (const what of resources) this.#raise(what);
  }

  get isConfirmed(): boolean {
    return performance.now() - this.#askedAt < maxStaleMs;
  }

  /**
   * The versions to use while Redis is down. The version of `callers` comes from PostgreSQL. While PostgreSQL does not
   * confirm this version, a caller may be used for a limited time after it was loaded. The versions of all other
   * resources are new and match no cached data, so these resources are read from the database.
   */
  fallback(): Versions {
    const never = -++this.#fallback;
    for (const what of resources) this.required.raise(what, 0);
    const callers = this.isConfirmed ? this.#now.callers : -Math.ceil(performance.now());
    return mapVersions((resource) => (resource === 'callers' ? callers : never));
  }

  /** Whether a caller that was cached under this version may be used while Redis is down. */
  isFresh(callersVersion: number): boolean {
    if (callersVersion < 0) return performance.now() + callersVersion < maxStaleMs;
    return callersVersion === this.#now.callers && this.isConfirmed;
  }

  #raise(what: Resource): void {
    this.#now = { ...this.#now, [what]: this.#now[what] + 1 };
  }
}
