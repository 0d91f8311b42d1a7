/** A store on PostgreSQL and Redis that were made available for the benchmark. */
import { RedisClient } from 'bun';
import type { StoreSettings } from './service.ts';

export interface ClusterStore extends StoreSettings {
  readonly REDIS_URL: string;
  readonly REDIS_PREFIX: string;
}

/** Throws an `Error` that names the missing part. */
export function clusterOf(postgres: string | undefined, redis: string | undefined): ClusterStore | undefined {
  if (postgres === undefined && redis === undefined) return undefined;
  if (postgres === undefined || redis === undefined)
    throw new Error('--postgres and --redis need each other.');
  return { DATABASE_URL: postgres, REDIS_URL: redis, REDIS_PREFIX: `bench-${process.pid}:` };
}

/**
 * Deletes the service's keys from Redis, which may be shared. The PostgreSQL database is dedicated to the benchmark.
 */
export async function forgetLimits({ REDIS_URL, REDIS_PREFIX }: ClusterStore): Promise<void> {
  const redis = new RedisClient(REDIS_URL);
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', `${REDIS_PREFIX}*`, 'COUNT', '1000');
    if (keys.length > 0) await redis.del(...keys);
    cursor = next;
  } while (cursor !== '0');
  redis.close();
}
