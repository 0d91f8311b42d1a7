import type { SQL } from 'bun';
import { type Resource, resources, type Versions } from '../../../domain/resources.ts';
import { pollIntervalMs } from '../../../domain/shared-versions.ts';
import { CircuitBreaker } from '../../../outages/circuit-breaker.ts';
import { type Notify, Outage } from '../../../outages/outage.ts';
import { PeriodicTask } from '../../../outages/periodic-task.ts';
import { isTransactionConflict, isUndefinedTable, postgresReason } from '../failures.ts';
import { Pool } from '../pool.ts';
import type { Select, Statement } from '../statements.ts';
import { readState, type ServerState, versionCounter } from '../versions.ts';

interface ReplicaOptions {
  readonly url: string;
  readonly poolSize: number;
  /** Timeout for a read on the replica, in ms. The remaining time is reserved for a retry on the primary. */
  readonly timeoutMs: number;
  /** Last known state of the primary; undefined before it is first read. */
  readonly primary: () => ServerState | undefined;
  readonly notice: Notify;
}

/** Time during which a replica is not used after a failed read, in ms. */
const restMs = 5_000;
/** Minimum time between two polls of a replica's state, in ms. Queries that need a newer change trigger extra polls. */
const minPollIntervalMs = 2;
/** Poll interval of an unresponsive replica, in ms. */
const retryIntervalMs = 1_000;
/** How long a failed replica must be out of use before the failure is logged, in ms. */
const failureReportedMs = 1_000;
/** How long a replica must lag or follow another primary before the problem is logged, in ms. */
export const unusedReportedMs = 60_000;
/** Interval between connection attempts after the server refused a connection, in ms. */
const growEveryMs = 5_000;
const closeSeconds = 1;

const notStandby =
  'it is a primary, not a replica: remove it from DATABASE_REPLICA_URLS, or give the address of a replica';
const otherStore =
  'it has another store: give the address of a replica of the server in DATABASE_URL, with the same database and schema';
const noStore = 'it has no store in this database and schema: use the database and schema of DATABASE_URL';
const otherPrimary =
  'it does not follow the primary of DATABASE_URL (it may be a replica of a copy), or has not caught up since this ' +
  'instance or the primary was started';

/** Tracks the progress of a streaming replica, and runs reads on it. */
export class Replica implements AsyncDisposable {
  readonly name: string;
  inFlight = 0;
  /** Number of successful reads. */
  reads = 0;
  readonly #options: ReplicaOptions;
  readonly #pool: Pool;
  readonly #growing: CircuitBreaker;
  readonly #outage: Outage;
  readonly #polling: PeriodicTask;
  /** Versions that the replica has replayed; undefined while the replica is not in use. */
  #replayed: Versions | undefined;
  #pendingPoll: Promise<void> | undefined;
  #nextPollAt = 0;
  #restsUntil = 0;
  /** Time at which the replica fell behind the primary (`performance.now()`); undefined if it is up to date. */
  #behindSince: number | undefined;
  #lagSeconds = 0;
  /** Time at which the replica was taken out of use; undefined if it is in use. */
  #unusedSince: number | undefined = performance.now();
  #reason: string | undefined;

  constructor(options: ReplicaOptions) {
    const { url, poolSize: size, timeoutMs: statementTimeoutMs, notice } = options;
    const { host, pathname } = new URL(url);
    this.name = host + pathname;
    this.#options = options;
    this.#outage = new Outage(`PostgreSQL replica ${this.name}`, notice);
    this.#growing = new CircuitBreaker({
      name: `PostgreSQL replica ${this.name} connections`,
      probe: () => this.#pool.connections.fill(),
      probeEveryMs: growEveryMs,
      notice,
    });
    this.#pool = new Pool({
      connection: { url, statementTimeoutMs },
      size,
      onShortage: (error) => this.#growing.trip(error),
      onUnreachable: () => {
        this.#replayed = undefined;
      },
    });
    this.#polling = new PeriodicTask(pollIntervalMs, async () => this.poll());
  }

  /** Returns true if the replica is known to have replayed this version. */
  has(resource: Resource, version: number): boolean {
    return this.#replayed !== undefined && this.#replayed[resource] >= version;
  }

  /** True if the replica is up to date and in use. */
  get isUsed(): boolean {
    return this.#unusedSince === undefined;
  }

  get unusedMs(): number {
    return this.#unusedSince === undefined ? 0 : performance.now() - this.#unusedSince;
  }

  /** Reason why the replica is not in use; undefined if it is in use. */
  get trouble(): string | undefined {
    return this.isUsed ? undefined : (this.#reason ?? 'it has not been queried yet');
  }

  /** Upper bound on the replica's lag behind the primary. */
  get lagSeconds(): number {
    return this.#lagSeconds;
  }

  /**
   * Returns the rows if the replica has at least this version and follows the primary with this mark; otherwise
   * undefined.
   */
  async select(query: Select, version: number, lineage: string): Promise<unknown[] | undefined> {
    this.inFlight++;
    try {
      const [found, rows] = await this.#pool.readInTurn(
        whetherCurrent(query.resource, version, lineage),
        (sql): SQL.Query<unknown[]> => sql.unsafe(query.text, [...query.values]),
      );
      if (!isCurrent(found)) {
        // A different server responds at this address, or the replica restarted with older data.
        this.#replayed = undefined;
        return undefined;
      }
      this.reads++;
      return rows;
    } catch (error) {
      // A conflict with WAL replay does not affect the next read.
      if (!isTransactionConflict(error)) {
        this.#replayed = undefined;
        this.#restsUntil = performance.now() + restMs;
      }
      return undefined;
    } finally {
      this.inFlight--;
    }
  }

  /** Reads the progress of the replica, unless it was read recently. */
  poll(): Promise<void> | undefined {
    if (performance.now() < this.#nextPollAt) return undefined;
    this.#pendingPoll ??= this.#readState().finally(() => {
      this.#pendingPoll = undefined;
    });
    return this.#pendingPoll;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#polling[Symbol.asyncDispose]();
    await this.#pendingPoll;
    this.#growing[Symbol.dispose]();
    await this.#pool.close(closeSeconds);
  }

  async #readState(): Promise<void> {
    const { primary } = this.#options;
    const before = primary();
    if (before === undefined) return;
    try {
      const state = await readState({ run: (statement) => this.#pool.read(statement) });
      this.#nextPollAt = performance.now() + minPollIntervalMs;
      this.#compare(state, before);
    } catch (error) {
      this.#nextPollAt = performance.now() + retryIntervalMs;
      this.#replayed = undefined;
      this.#behindSince ??= performance.now();
      this.#notUsed(isUndefinedTable(error) ? noStore : postgresReason(error), failureReportedMs);
    }
  }

  /** Compares the state of the replica with an earlier state of the primary. */
  #compare(state: ServerState, before: ServerState): void {
    const now = performance.now();
    const mistake = mistakeOf(state, before);
    const follows = mistake === undefined && state.lineage === before.lineage;
    const missingMs = resources.map((what) => (before.versions[what] - state.versions[what]) / 1_000);
    const isBehind = missingMs.some((missing) => missing > 0);
    this.#behindSince = isBehind || !follows ? (this.#behindSince ?? now) : undefined;
    // Versions are timestamps, so their difference is also an upper bound on the lag.
    const behindMs = this.#behindSince === undefined ? 0 : now - this.#behindSince;
    this.#lagSeconds = (follows ? Math.min(behindMs, Math.max(...missingMs, 0)) : behindMs) / 1_000;

    const isResting = now < this.#restsUntil;
    this.#replayed = follows && !isResting ? state.versions : undefined;
    if (mistake !== undefined) this.#notUsed(mistake, failureReportedMs);
    else if (!follows) this.#notUsed(otherPrimary, unusedReportedMs);
    else if (isBehind) this.#notUsed('it lacks changes from the primary', unusedReportedMs);
    else if (isResting) this.#notUsed('it failed to answer reads', failureReportedMs);
    else {
      this.#unusedSince = undefined;
      this.#outage.end();
    }
  }

  #notUsed(reason: string, reportedMs: number): void {
    this.#reason = reason;
    this.#unusedSince ??= performance.now();
    if (this.unusedMs >= reportedMs) this.#outage.begin(reason);
  }
}

function mistakeOf(state: ServerState, primary: ServerState): string | undefined {
  if (!state.isStandby) return notStandby;
  return state.store === primary.store ? undefined : otherStore;
}

interface CurrentRow {
  readonly is_current: boolean | null;
}

/**
 * Checks that a server is a replica of the primary with this mark (`lineage.ts`), and that it has this version of the data or a
 * later one. Runs before the query in the same session, so that the query sees at least this data. An earlier check is
 * not sufficient, because an address may resolve to several servers, and a server may restart with older data after a
 * crash.
 */
export function whetherCurrent(
  resource: Resource,
  version: number,
  lineage: string,
): Statement<CurrentRow[]> {
  return (sql: SQL): SQL.Query<CurrentRow[]> => sql`
    SELECT version >= ${BigInt(version)}::bigint AND lineage = ${lineage}::text AND pg_is_in_recovery()
           AS is_current
    FROM counters, store WHERE name = ${versionCounter(resource)}::text`;
}

export const isCurrent = ([row]: readonly CurrentRow[]): boolean => row?.is_current === true;
