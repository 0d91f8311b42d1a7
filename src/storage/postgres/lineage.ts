import { failureText, type Notice } from '../outage.ts';
import type { PostgresDatabase } from './database.ts';
import { lockCounters, risenVersion, type ServerState } from './versions.ts';

/** Results of `server_history()`. */
interface Servers {
  readonly recorded: string | null;
  /** Null if the server does not report them. */
  readonly current: string | null;
}

/**
 * Marks the served primary, so that other copies of its data can be recognized. Every instance writes a random mark
 * into the store when it starts, and again when another server responds at the address or the server was restarted. Of
 * all servers that contain a copy of the data, only replicas of this primary receive the mark.
 *
 * The mark also ensures that the ids of lost changes are not assigned again. After a failover, a trigger raises each
 * counter on the first change (`skip_lost_ids` in `schema-changes.ts`). Here all counters are raised immediately, so
 * that readers of events notice the gap, and cached data is read again.
 */
export class Lineage implements AsyncDisposable {
  readonly #database: PostgresDatabase;
  readonly #notice: Notice;
  /** Start time of the marked server. */
  #started: string | undefined;
  #markedAt = Number.NEGATIVE_INFINITY;
  #marking: Promise<void> | undefined;
  #hasFailed = false;

  constructor(database: PostgresDatabase, notice: Notice) {
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
      const { recorded, current } = await this.#write();
      this.#markedAt = performance.now();
      this.#started = started;
      this.#hasFailed = false;
      if (recorded !== null && current !== null && recorded !== current) {
        this.#notice(
          `the database has another history: timeline ${current} instead of ${recorded}, after a failover or restore. ` +
            'Ids continue after a gap, and readers of events start again (410 events_expired)',
        );
      }
    } catch (error) {
      if (!this.#hasFailed)
        this.#notice(`cannot mark the primary, so replicas are not used: ${failureText(error)}`);
      this.#hasFailed = true;
    }
  }

  #write(): Promise<Servers> {
    return this.#database.transact(async (execute) => {
      const [found] = await execute<Servers[]>(
        (sql) => sql`SELECT server AS recorded, server_history() AS current FROM store FOR UPDATE`,
      );
      const { recorded = null, current = null } = found ?? {};
      if (recorded !== null && current !== null && recorded !== current) {
        await execute(lockCounters);
        // The trigger compares only timelines. After a restore of a dump, an invalid timeline makes it raise the counters.
        const isSame = tablesOf(recorded) === tablesOf(current);
        await execute(
          (sql) => sql`
              UPDATE counters SET ${risenVersion(sql)},
                timeline = CASE WHEN ${isSame}::boolean THEN timeline ELSE 'other' END`,
        );
      }
      await execute(
        (sql) =>
          sql`UPDATE store SET lineage = gen_random_uuid()::text, server = coalesce(${current}::text, server)`,
      );
      return { recorded, current };
    }, performance.now() + this.#database.statementTimeoutMs);
  }
}

/** Identifies the tables: physical copies have the same identifier, and restored dumps have another. */
const tablesOf = (server: string) => server.split('/')[0];
