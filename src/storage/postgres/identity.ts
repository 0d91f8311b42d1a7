import type { Clock } from '../../domain/clock.ts';
import { StoreUnusableError } from '../../outages/errors.ts';
import type { Notify } from '../../outages/outage.ts';
import { unfinishedCopyError } from '../store-errors.ts';
import type { PostgresDatabase } from './database.ts';

/** Identifiers of the store and of this process in Redis. */
export interface Identity {
  /** 12 hexadecimal digits, generated when the store was created. */
  readonly store: string;
  /** 8 base64 characters, generated for this process. */
  readonly process: string;
}

interface IdentityRow extends Identity {
  readonly redisPrefix: string | null;
  readonly isUnfinishedCopy: boolean;
  /** Whether the store was restored, or its server replaced, since an instance last marked it. */
  readonly isRestored: boolean;
  /** Comma-separated names of the running instances; null if no instance is running. */
  readonly running: string | null;
}

interface IdentifyOptions {
  readonly redisPrefix: string;
  readonly isServing: boolean;
  readonly migrates: boolean;
  readonly notice: Notify;
  readonly clock: Clock;
}

/** An instance counts as running if it has reported within this time, which is three report intervals. */
const runningWithinSeconds = 30;

/**
 * Identifies the store and this process, and checks that all instances use the same Redis prefix. With different
 * prefixes, instances would not see each other's changes. If the prefix differs, commands throw `StoreUnusableError`; an
 * instance also throws it if other instances are running. Otherwise, the store will adopt the new prefix (`adoptPrefix`).
 *
 * A restored store contains the prefix and instances from when the backup was taken. They are ignored until an
 * instance has marked the store (`lineage.ts`), because a restored store must be used with a new prefix. A command that
 * migrates the store is not rejected, because a dump of an older version does not show that it was restored.
 */
export async function identifyProcess(
  database: PostgresDatabase,
  { redisPrefix, isServing, migrates, notice, clock }: IdentifyOptions,
): Promise<Identity> {
  const [now, withinMs] = [clock.now(), runningWithinSeconds * 1_000];
  const [row] = await database.read<IdentityRow[]>(
    (sql) => sql`
      SELECT id AS store, redis_prefix AS "redisPrefix",
             is_unfinished_copy AS "isUnfinishedCopy",
             EXISTS (SELECT FROM counters WHERE history NOT IN ('', server_history())) AS "isRestored",
             left(encode(uuid_send(gen_random_uuid()), 'base64'), 8) AS process,
             (SELECT string_agg(name, ', ' ORDER BY name) FROM instances WHERE seen_at BETWEEN ${now - withinMs} AND ${now + withinMs}) AS running
      FROM store`,
  );
  if (row === undefined)
    throw new StoreUnusableError(
      'The "store" table in the database is empty. Restore the database from a backup.',
    );
  if (row.isUnfinishedCopy) throw unfinishedCopyError('The database', 'use an empty database');
  const { store, process, redisPrefix: known, isRestored, running } = row;
  if (known === redisPrefix) return { store, process };
  if (known !== null && (isServing || !(migrates || isRestored))) {
    const differs = `The instances of this store use REDIS_PREFIX=${known}, but this process uses ${redisPrefix}`;
    if (!isServing) throw new StoreUnusableError(`${differs}. Set REDIS_PREFIX=${known}. ${ofOldDump}`);
    if (running !== null && !isRestored)
      throw new StoreUnusableError(`${differs}. ${remedy(known, running)}`);
  }
  // Must come before the store is marked, because after that, the instances in the backup count as running.
  if (isServing && isRestored) await adoptPrefix(database, redisPrefix, notice);
  return { store, process };
}

/**
 * Stores the prefix of a serving instance. Unless the store was restored, the instance must have found that all instances
 * share its Redis: until it has reported, an instance that just started does not count as running. Writes nothing if the
 * store has this prefix, because an instance also starts on a read-only database.
 */
export async function adoptPrefix(
  database: PostgresDatabase,
  redisPrefix: string,
  notice: Notify,
): Promise<void> {
  const [row] = await database.read<Pick<IdentityRow, 'redisPrefix'>[]>(
    (sql) => sql`SELECT redis_prefix AS "redisPrefix" FROM store`,
  );
  const former = row?.redisPrefix ?? null;
  if (former === redisPrefix) return;
  await database.write((sql) => sql`UPDATE store SET redis_prefix = ${redisPrefix}`);
  if (former === null) return;
  notice(
    `REDIS_PREFIX has changed from ${former} to ${redisPrefix}. The store now uses the new prefix: start all instances with this prefix.`,
  );
}

const ofOldDump =
  'If you have restored a dump of version 1.1.0 or older, see "PostgreSQL" in docs/backup.md.';

function remedy(known: string, running: string): string {
  return (
    `Set REDIS_PREFIX=${known}, or stop the running instances first: ${running}. ` +
    `A killed instance still counts as running for ${runningWithinSeconds} seconds. ${ofOldDump}`
  );
}
