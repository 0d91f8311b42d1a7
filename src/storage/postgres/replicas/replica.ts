import type { SQL } from 'bun';
import { type Resource, resources, type Versions } from '../../../domain/resources.ts';
import { Breaker } from '../../breaker.ts';
import { type Notice, Outage } from '../../outage.ts';
import { PeriodicTask } from '../../periodic-task.ts';
import { pollIntervalMs } from '../../shared-versions.ts';
import { isOvertaken, isUndefinedTable, postgresReason } from '../failures.ts';
import { Pool } from '../pool.ts';
import type { Select } from '../statements.ts';
import { readState, type ServerState } from '../versions.ts';
import { isCurrent, whetherCurrent } from './current.ts';

export interface ReplicaOptions {
  readonly url: string;
  readonly poolSize: number;
  /** Time limit of a read on the replica, in ms; the primary has the rest of the time. */
  readonly timeoutMs: number;
  /** Last known state of the primary; undefined before the first one. */
  readonly primary: () => ServerState | undefined;
  readonly notice: Notice;
}

/** Pause before a replica that failed to answer a read is used again, in ms. */
const restMs = 5_000;
/** Minimum time between two reads of a replica's state, in ms. Reads for which it lacks a change cause further ones. */
const minPollIntervalMs = 2;
/** Interval at which the state of an unresponsive replica is read, in ms. */
const retryIntervalMs = 1_000;
/** Delay before the log reports that a replica is unused, in ms: after a failure, and for lag. */
const failureReportedMs = 1_000;
export const unusedReportedMs = 60_000;
/** Interval between attempts to connect after the server refused a connection, in ms. */
const growEveryMs = 5_000;
const closeSeconds = 1;

const notStandby =
  'it is a primary, not a replica: remove it from DATABASE_REPLICA_URLS, or give the address of a replica';
const otherStore =
  'it has another store: give the address of a replica of the server in DATABASE_URL, with the same database and schema';
const noStore = 'it has no store in this database and schema: give the same ones as in DATABASE_URL';
const otherPrimary =
  'it does not follow the primary of DATABASE_URL, or has not caught up since that was started';

/** A streaming replica: its progress, and the reads that it answers. */
export class Replica implements AsyncDisposable {
  readonly name: string;
  inFlight = 0;
  /** Number of reads that it answered. */
  reads = 0;
  readonly #options: ReplicaOptions;
  readonly #pool: Pool;
  readonly #growing: Breaker;
  readonly #outage: Outage;
  readonly #polling: PeriodicTask;
  /** The versions that it has replayed; undefined while it is not used. */
  #replayed: Versions | undefined;
  #pendingPoll: Promise<void> | undefined;
  #nextPollAt = 0;
  #restsUntil = 0;
  /** Time since which it has lacked changes of the primary (`performance.now()`); undefined if it lacks none. */
  #behindSince: number | undefined;
  #lagSeconds = 0;
  /** Time since which it has not been used; undefined if it is used. */
  #unusedSince: number | undefined = performance.now();
  #reason: string | undefined;

  constructor(options: ReplicaOptions) {
    const { url, poolSize: size, timeoutMs: statementTimeoutMs, notice } = options;
    const { host, pathname } = new URL(url);
    this.name = host + pathname;
    this.#options = options;
    this.#outage = new Outage(`PostgreSQL replica ${this.name}`, notice);
    this.#growing = new Breaker({
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

  /** Whether it is known to have replayed this version. */
  has(resource: Resource, version: number): boolean {
    return this.#replayed !== undefined && this.#replayed[resource] >= version;
  }

  /** Whether it is used for reads of all changes that it has. */
  get isUsed(): boolean {
    return this.#unusedSince === undefined;
  }

  get unusedMs(): number {
    return this.#unusedSince === undefined ? 0 : performance.now() - this.#unusedSince;
  }

  /** Reason for which it is not used; undefined if it is used. */
  get trouble(): string | undefined {
    return this.isUsed ? undefined : (this.#reason ?? 'it has not been asked yet');
  }

  /** Upper bound of its lag behind the primary. */
  get lagSeconds(): number {
    return this.#lagSeconds;
  }

  /** The rows, if its data have at least the version and follow the primary since that start; undefined otherwise. */
  async select(query: Select, version: number, primaryStarted: string): Promise<unknown[] | undefined> {
    this.inFlight++;
    try {
      const [found, rows] = await this.#pool.readInTurn(
        whetherCurrent(query.resource, version, primaryStarted),
        (sql): SQL.Query<unknown[]> => sql.unsafe(query.text, [...query.values]),
      );
      if (!isCurrent(found)) {
        // Another server answers at this address, or it was restarted with older data.
        this.#replayed = undefined;
        return undefined;
      }
      this.reads++;
      return rows;
    } catch (error) {
      // A conflict with replay says nothing about the next read.
      if (!isOvertaken(error)) {
        this.#replayed = undefined;
        this.#restsUntil = performance.now() + restMs;
      }
      return undefined;
    } finally {
      this.inFlight--;
    }
  }

  /** Reads its progress, unless it was read a moment ago. */
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

  /** Compares it with the primary's earlier state. */
  #compare(state: ServerState, before: ServerState): void {
    const now = performance.now();
    const mistake = mistakeOf(state, before);
    const follows = mistake === undefined && state.primary === before.started;
    const missingMs = resources.map((what) => (before.versions[what] - state.versions[what]) / 1_000);
    const isBehind = missingMs.some((missing) => missing > 0);
    this.#behindSince = isBehind || !follows ? (this.#behindSince ?? now) : undefined;
    // A version is the time of its change, so the difference is also a bound.
    const behindMs = this.#behindSince === undefined ? 0 : now - this.#behindSince;
    this.#lagSeconds = (follows ? Math.min(behindMs, Math.max(...missingMs, 0)) : behindMs) / 1_000;

    const isResting = now < this.#restsUntil;
    this.#replayed = follows && !isResting ? state.versions : undefined;
    if (mistake !== undefined) this.#notUsed(mistake, failureReportedMs);
    else if (!follows) this.#notUsed(otherPrimary, unusedReportedMs);
    else if (isBehind) this.#notUsed('it lacks changes of the primary', unusedReportedMs);
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
