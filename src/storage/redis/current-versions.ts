import type { Versions } from '../../domain/resources.ts';
import type { RedisContext } from './context.ts';

/**
 * Returns the versions from any available shard, or the fallback versions while Redis is down. Rejects with
 * `Overloaded` if too many requests are queued.
 */
export async function currentVersions({ servers, versions }: RedisContext): Promise<Versions> {
  const shard = servers.anyAvailable();
  if (shard === undefined) return versions.fallback();
  return shard.shared(
    () => shard.exchangeVersions(versions, (...command) => shard.link.ask(...command)),
    async () => versions.fallback(),
  );
}
