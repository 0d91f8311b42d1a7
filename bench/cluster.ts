/** A store on the PostgreSQL and Redis servers of the benchmark. */
import { RedisClient } from 'bun';
import type { StoreSettings } from './service.ts';

export interface ClusterStore extends StoreSettings {
  readonly REDIS_URL: string;
  readonly REDIS_PREFIX: string;
}

/** Throws an `Error` if only one of the servers is given. */
export function createCluster(
  postgres: string | undefined,
  redis: string | undefined,
): ClusterStore | undefined {
  if (postgres === undefined && redis === undefined) return undefined;
  if (postgres === undefined || redis === undefined)
    throw new Error('--postgres and --redis must be used together.');
  return { DATABASE_URL: postgres, REDIS_URL: redis, REDIS_PREFIX: `bench-${process.pid}:` };
}

/**
 * Deletes only the service's keys from Redis, because other programs may use the same server. The PostgreSQL database
 * is used only for the benchmark.
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
