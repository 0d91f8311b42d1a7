import type { Notice } from '../outage.ts';
import { StorageUnusable } from '../storage.ts';
import type { PostgresDatabase } from './database.ts';

/** The names of the store and of this process in Redis. */
export interface Identity {
  /** 12 hexadecimal digits, made with the store. */
  readonly store: string;
  /** 8 characters of base64, made for this process. */
  readonly process: string;
}

interface IdentityRow extends Identity {
  readonly redisPrefix: string | null;
}

/**
 * Identifies the store and this process, and compares the Redis prefix with that of the instances: with another one,
 * processes would not see each other's changes. If it differs, a command throws `StorageUnusable`, and an instance
 * moves the store to its prefix.
 */
export async function identify(
  database: PostgresDatabase,
  redisPrefix: string,
  { serving, notice }: { serving: boolean; notice: Notice },
): Promise<Identity> {
  const [row] = await database.read<IdentityRow[]>(
    (sql) => sql`
      SELECT id AS store, redis_prefix AS "redisPrefix",
             left(encode(uuid_send(gen_random_uuid()), 'base64'), 8) AS process
      FROM store`,
  );
  if (row === undefined)
    throw new StorageUnusable(
      'The table "store" of the database is empty. Restore the database from a backup.',
    );
  const { store, process, redisPrefix: known } = row;
  if (known !== redisPrefix && serving) {
    await database.write((sql) => sql`UPDATE store SET redis_prefix = ${redisPrefix}`);
  }
  if (known !== null && known !== redisPrefix) {
    const differs = `The instances of this store use REDIS_PREFIX=${known}, but here it is ${redisPrefix}`;
    if (!serving) throw new StorageUnusable(`${differs}. Set REDIS_PREFIX=${known}.`);
    notice(
      `${differs}. Instances with different prefixes count limits separately: restart the others with this prefix.`,
    );
  }
  return { store, process };
}
