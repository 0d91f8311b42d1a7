/** Retries a step of a migration that other sessions block, and reports these sessions. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { SQL } from 'bun';
import type { Notify } from '../../outages/outage.ts';
import { PeriodicTask } from '../../outages/periodic-task.ts';
import { isLockTimeout, isTransactionConflict } from './failures.ts';

export type Begin = <T>(work: (transaction: SQL) => Promise<T>) => Promise<T>;

/** Another process holds the advisory lock. */
export class MigrationLocked extends Error {}

interface StepOptions {
  /** For the log. */
  readonly name: string;
  readonly begin: Begin;
  readonly notice: Notify;
  readonly lockTimeoutMs: number;
  /** First half of the key of the advisory lock for migrations. The second half is the hash of the schema. */
  readonly lockId: number;
}

/** Interval at which the blocking sessions are read, in ms. */
const pollIntervalMs = 250;
/** Maximum time between two attempts while the same sessions block the step, in ms. */
const maxPauseMs = 10_000;
/** Interval at which a wait is logged again, in ms. */
const repeatMs = 60_000;
const maxNamed = 3;
const maxTables = 3;
const timeFormat = 'YYYY-MM-DD"T"HH24:MI:SS"Z"';

/**
 * Runs a step until it gets its locks. While the oldest transaction that may block the step is open, attempts become less
 * frequent, because statements of running instances wait during an attempt. Younger transactions come and go, such as
 * those that have waited for an attempt.
 */
export async function whenUnlocked<T>(step: () => Promise<T>, options: StepOptions): Promise<T> {
  const log = new WaitLog(options.notice);
  for (let pauseMs = pollIntervalMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof MigrationLocked || isLockTimeout(error) || isTransactionConflict(error)))
        throw error;
    }
    const until = performance.now() + pauseMs;
    const blockers = await blockersOf(options);
    const pid = blockers[0]?.pid;
    log.waits(pid, () => described(blockers, options.name));
    do await sleep(Math.min(pollIntervalMs, pauseMs));
    while (performance.now() < until && pid !== undefined && (await blockersOf(options))[0]?.pid === pid);
  }
}

/** Runs an index build, and reports the transactions that it waits for. */
export async function reportingWaits<T>(build: Promise<T>, options: StepOptions): Promise<T> {
  const { begin, name, notice, lockTimeoutMs } = options;
  const log = new WaitLog(notice);
  await using _reports = new PeriodicTask(pollIntervalMs, async () => {
    const [blocker] = await begin(
      (sql) => sql<Session[]>`
        SELECT activity.pid, nullif(application_name, '') AS application, state,
               to_char(xact_start AT TIME ZONE 'UTC', ${timeFormat}) AS since
        FROM pg_stat_progress_create_index AS build
        JOIN pg_stat_activity AS activity ON activity.pid = current_locker_pid
          AND xact_start < clock_timestamp() - ${lockTimeoutMs}::integer * interval '1 ms'
        JOIN pg_class ON pg_class.oid = relid AND relnamespace = current_schema()::regnamespace`,
    );
    if (blocker === undefined) return;
    const waiting = `waiting for the transaction of ${sessionOf(blocker)} to end`;
    log.waits(blocker.pid, () => `${name}: ${waiting}. Running instances are not affected`);
  });
  return await build;
}

/** Logs a wait when it begins and every minute. */
class WaitLog {
  readonly #notice: Notify;
  #pid: number | null | undefined;
  #at = 0;

  constructor(notice: Notify) {
    this.#notice = notice;
  }

  /** `pid` identifies the wait; undefined if there is none. */
  waits(pid: number | null | undefined, describe: () => string): void {
    if (pid === undefined || (pid === this.#pid && performance.now() - this.#at < repeatMs)) return;
    this.#notice(describe());
    this.#pid = pid;
    this.#at = performance.now();
  }
}

interface Session {
  /** Null for a prepared transaction. */
  readonly pid: number | null;
  readonly application: string | null;
  readonly state: string | null;
  readonly since: string | null;
}

interface Blocker extends Session {
  /** Tables on which the session holds a lock; null for the advisory lock. */
  readonly tables: string | null;
  readonly count: bigint;
}

/**
 * Sessions in a transaction that is older than an attempt and holds a lock on the store's tables, and the session that
 * holds the advisory lock. Roles without `pg_read_all_stats` do not see the state of other roles' sessions.
 */
function blockersOf({ begin, lockTimeoutMs, lockId }: StepOptions): Promise<Blocker[]> {
  return begin(
    (sql) => sql`
      SELECT locks.pid, nullif(application_name, '') AS application, state,
             to_char(xact_start AT TIME ZONE 'UTC', ${timeFormat}) AS since,
             array_to_string((array_agg(DISTINCT relname ORDER BY relname))[1:${maxTables}::integer], ', ') AS tables,
             count(DISTINCT relname) AS count
      FROM pg_locks AS locks
      LEFT JOIN pg_class ON pg_class.oid = relation AND relnamespace = current_schema()::regnamespace
        AND relkind IN ('r', 'p')
      LEFT JOIN pg_stat_activity AS activity ON activity.pid = locks.pid
      WHERE granted AND locks.pid IS DISTINCT FROM pg_backend_pid()
        AND locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND ((relname IS NOT NULL
              AND (xact_start IS NULL OR xact_start < clock_timestamp() - ${lockTimeoutMs}::integer * interval '1 ms'))
             OR (locktype = 'advisory' AND classid = ${lockId}::bigint
                 AND objid = hashtext(current_schema())::bit(32)::bigint))
      GROUP BY locks.pid, application_name, state, xact_start
      ORDER BY xact_start NULLS LAST, locks.pid`,
  );
}

function described(blockers: readonly Blocker[], name: string): string {
  const named = blockers.slice(0, maxNamed).map((blocker) => {
    const { tables, count } = blocker;
    const more = Number(count) > maxTables ? ` and ${Number(count) - maxTables} more` : '';
    const locks = tables === null || tables === '' ? 'is migrating' : `has locked ${tables}${more}`;
    return `${sessionOf(blocker)} ${locks}`;
  });
  const others = blockers.length > maxNamed ? `; ${blockers.length - maxNamed} other sessions` : '';
  return (
    `${name}: waiting for locks: ${named.join('; ')}${others}. The migration continues when these transactions end; ` +
    'running instances are not affected'
  );
}

function sessionOf({ pid, application, state, since }: Session): string {
  const session = pid === null ? 'a prepared transaction (see pg_prepared_xacts)' : `session ${pid}`;
  const facts = [
    application ?? 'no application name',
    state ?? 'state not visible',
    since && `since ${since}`,
  ];
  return `${session} (${facts.filter(Boolean).join(', ')})`;
}
