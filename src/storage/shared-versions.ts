import { type Resource, resources, type Versions, versionsFrom } from '../domain/resources.ts';

/**
 * What a process holds of the shared store may be this old, in ms, when the quick word of a change (Redis) does not
 * reach it: so long the last look at PostgreSQL counts.
 */
export const staleAtMostMs = 1_000;

/** How often each way is asked for the versions when no request does, in ms. */
export const lookEveryMs = 250;

/**
 * The versions of this process, risen whenever either of two ways brings word of a change: Redis with every request it
 * counts, PostgreSQL when it is looked at. Both tell the number PostgreSQL gave the change, so one that came both ways
 * counts once; any other number counts as a change, also a smaller one (a server that went back in time).
 */
export class SharedVersions {
  #now = versionsFrom(() => 1);
  #redis = versionsFrom(() => -1);
  #postgres = versionsFrom(() => 0);
  /** When the numbers Redis tells last changed, as `performance.now()`. */
  readonly #redisMoved: Record<Resource, number> = { ...versionsFrom(() => 0) };
  /** When PostgreSQL was asked for what it told last. */
  #askedAt = Number.NEGATIVE_INFINITY;
  #fallback = 0;

  /** The versions under which something read from here on may be held. */
  get now(): Versions {
    return this.#now;
  }

  /** What Redis told last: scripts compare it with what it is there now. */
  get redis(): Versions {
    return this.#redis;
  }

  /** What PostgreSQL told last. */
  get postgres(): Versions {
    return this.#postgres;
  }

  hearRedis(told: Versions): Versions {
    // Every request comes by here, and nearly always finds nothing new.
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

  /** `askedAt` is the `performance.now()` before the question: what was committed earlier is in the answer. */
  hearPostgres(told: Versions, askedAt: number): void {
    this.#askedAt = askedAt;
    for (const what of resources) {
      const overtaken = told[what] < this.#redis[what] && this.#redisMoved[what] > askedAt;
      if (overtaken || told[what] === this.#postgres[what]) continue;
      this.#postgres = { ...this.#postgres, [what]: told[what] };
      if (told[what] !== this.#redis[what]) this.#rise(what);
    }
  }

  /** Whether PostgreSQL told its versions within the time they count. */
  get isConfirmed(): boolean {
    return performance.now() - this.#askedAt < staleAtMostMs;
  }

  /**
   * The versions of a process that Redis does not tell them. Callers are believed on PostgreSQL's word, and without it for
   * a while after they were read; any other never comes again, so that everything is read from the database.
   */
  fallback(): Versions {
    const never = -++this.#fallback;
    const callers = this.isConfirmed ? this.#now.callers : -Math.ceil(performance.now());
    return versionsFrom((resource) => (resource === 'callers' ? callers : never));
  }

  /** Whether a process that Redis does not tell versions may rely on a caller read under this one. */
  isFresh(callersVersion: number): boolean {
    if (callersVersion < 0) return performance.now() + callersVersion < staleAtMostMs;
    return callersVersion === this.#now.callers && this.isConfirmed;
  }

  #rise(what: Resource): void {
    this.#now = { ...this.#now, [what]: this.#now[what] + 1 };
  }
}
