import { type Resource, versionsFrom } from '../domain/resources.ts';

/**
 * Of each resource, the version in PostgreSQL that data of a replica must have at least: then it has every change that was
 * acknowledged, on any instance, before the request that reads it was counted. See docs/decisions/0044-read-replicas.md.
 */
export class RequiredVersions {
  readonly #minVersions: Record<Resource, number> = { ...versionsFrom(() => Number.POSITIVE_INFINITY) };
  /** Time at which each was last raised (`performance.now()`). */
  readonly #raisedAt: Record<Resource, number> = { ...versionsFrom(() => Number.NEGATIVE_INFINITY) };

  /** `Infinity` while it is unknown: then only the primary is known to have every change. */
  of(what: Resource): number {
    return this.#minVersions[what];
  }

  /** Raises it to the version of a change; 0 if that is unknown. */
  raise(what: Resource, version: number): void {
    this.#minVersions[what] = Math.max(
      this.#minVersions[what],
      version === 0 ? Number.POSITIVE_INFINITY : version,
    );
    this.#raisedAt[what] = performance.now();
  }

  /**
   * Replaces it with the version that the primary returned to a query sent at `askedAt`, if it was not raised since:
   * that query saw all changes for which it was raised. A number of Redis without a change in PostgreSQL is therefore
   * required only temporarily.
   */
  settle(what: Resource, version: number, askedAt: number): void {
    const isSettled = this.#raisedAt[what] < askedAt;
    this.#minVersions[what] = isSettled ? version : Math.max(this.#minVersions[what], version);
  }
}
