import { mapVersions, type Resource } from './resources.ts';

/**
 * For each resource, the minimum version (as numbered by PostgreSQL) of data that is read from a replica. This version
 * includes every change that any instance had acknowledged before the current request was counted. See
 * docs/decisions/0044-read-replicas.md.
 */
export class RequiredVersions {
  readonly #minVersions: Record<Resource, number> = { ...mapVersions(() => Number.POSITIVE_INFINITY) };
  /** Time when each version was last raised (`performance.now()`). */
  readonly #raisedAt: Record<Resource, number> = { ...mapVersions(() => Number.NEGATIVE_INFINITY) };

  /** The minimum version; `Infinity` if it is unknown, in which case only the primary is known to have every change. */
  of(what: Resource): number {
    return this.#minVersions[what];
  }

  /** Raises the minimum version to a change's version. A `version` of 0 means that the version is unknown. */
  raise(what: Resource, version: number): void {
    this.#minVersions[what] = Math.max(
      this.#minVersions[what],
      version === 0 ? Number.POSITIVE_INFINITY : version,
    );
    this.#raisedAt[what] = performance.now();
  }

  /**
   * Sets the minimum version to the version that a query sent at `askedAt` read from the primary. Does not lower a
   * minimum that was raised after `askedAt`. Thus corrects a minimum that Redis raised without a change in PostgreSQL.
   */
  settle(what: Resource, version: number, askedAt: number): void {
    const isSettled = this.#raisedAt[what] < askedAt;
    this.#minVersions[what] = isSettled ? version : Math.max(this.#minVersions[what], version);
  }
}
