import type { Versions } from '../../domain/resources.ts';
import type { RedisContext } from './context.ts';

/** The versions that any working shard reports, or those that are valid without Redis. Rejects with `Overloaded`. */
export async function currentVersions({ servers, versions }: RedisContext): Promise<Versions> {
  const shard = servers.anyAvailable();
  if (shard === undefined) return versions.fallback();
  return shard.shared(
    () => shard.exchangeVersions(versions, (...command) => shard.link.ask(...command)),
    async () => versions.fallback(),
  );
}
