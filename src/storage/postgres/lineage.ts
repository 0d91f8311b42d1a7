import { describeError, type Notify } from '../../outages/outage.ts';
import type { PostgresDatabase } from './database.ts';
import { incrementVersion, lockCounters, type ServerState } from './versions.ts';

/** Results of `server_history()`. */
interface Histories {
  readonly recorded: string;
  readonly current: string;
}

/**
 * Marks the served primary, so that other copies of its data can be recognized. Every instance writes a random mark
 * into the store when it starts, and again when another server responds at the address or the server was restarted. Of
 * all servers that contain a copy of the data, only replicas of this primary receive the mark.
 *
 * The mark also ensures that the ids of lost changes are not assigned again. After a failover, a trigger raises each
 * counter on the first change (`skip_lost_ids` in `storage/schema/`). Here all counters are raised immediately, so
 * that readers of events notice the gap, and cached data is read again.
 */
export class Lineage implements AsyncDisposable {
  readonly #database: PostgresDatabase;
  readonly #notice: Notify;
  /** Start time of the marked server. */
  #started: string | undefined;
  #markedAt = Number.NEGATIVE_INFINITY;
  #marking: Promise<void> | undefined;
  #hasFailed = false;

  constructor(database: PostgresDatabase, notice: Notify) {
    this.#database = database;
    this.#notice = notice;
  }

  /**
   * Returns true if this process has marked the server, and the state contains the mark or a later one. Otherwise,
   * begins to mark the server. `askedAt` is `performance.now()` before the state was read.
   */
  isMarked({ started, isStandby }: ServerState, askedAt: number): boolean {
    if (started === this.#started) return askedAt > this.#markedAt;
    if (!isStandby) this.#marking ??= this.#mark(started).finally(() => (this.#marking = undefined));
    return false;
  }

  /** Resolves when no mark is being written. */
  async settled(): Promise<void> {
    await this.#marking;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.settled();
  }

  async #mark(started: string): Promise<void> {
    try {
      const other = await this.#write();
      this.#markedAt = performance.now();
      this.#started = started;
      this.#hasFailed = false;
      if (other !== undefined) {
        this.#notice(
          `the database has a different history: ${other.current} instead of ${other.recorded}, after a failover or restore. ` +
            'Ids continue after a gap, and readers of events start again (410 events_expired)',
        );
      }
    } catch (error) {
      if (!this.#hasFailed)
        this.#notice(`cannot mark the primary, so replicas are not used: ${describeError(error)}`);
      this.#hasFailed = true;
    }
  }

  /** Returns the histories if they differ. */
  #write(): Promise<Histories | undefined> {
    return this.#database.transact(async (execute) => {
      // Locks the row, so that only one instance raises the counters.
      await execute((sql) => sql`UPDATE store SET lineage = gen_random_uuid()::text`);
      const [other] = await execute<Histories[]>(
        (sql) => sql`
          SELECT history AS recorded, current FROM counters, (SELECT server_history() AS current) AS server
          WHERE history NOT IN ('', current) LIMIT 1`,
      );
      if (other === undefined) return undefined;
      await execute(lockCounters);
      await execute((sql) => sql`UPDATE counters SET ${incrementVersion(sql)}`);
      return other;
    }, performance.now() + this.#database.statementTimeoutMs);
  }
}
