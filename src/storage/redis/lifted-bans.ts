import type { AccountBan } from '../limit-snapshots.ts';
import type { RedisContext } from './context.ts';

const groupSize = 500;

/**
 * Ends a ban in Redis, unless the key already has a newer ban. `version` is the version of `callers` after the ban was
 * lifted in PostgreSQL.
 */
export async function liftInRedis(
  { servers }: RedisContext,
  { keyId, accountId, bannedUntil }: Omit<AccountBan, 'level'>,
  version: number,
): Promise<void> {
  const { link, keys, clock } = servers.of(accountId);
  await link.run(
    'lift',
    [keys.penalty(accountId, keyId), keys.bans, keys.callers, keys.clock],
    [`${keyId}:${accountId}`, bannedUntil, version, ...clock.arguments()],
  );
}

/**
 * Ends bans in Redis that were lifted in PostgreSQL by a process that could not reach Redis. Lifting a ban raises the
 * version of `callers`, which every instance that can reach both servers detects.
 */
export class LiftedBans {
  readonly #context: RedisContext;
  /** End times of the bans that were removed from Redis, by key id. */
  #applied = new Map<number, number>();
  /** All bans lifted up to this version of `callers` in PostgreSQL have been removed from Redis. */
  #version: number | undefined;

  constructor(context: RedisContext) {
    this.#context = context;
  }

  /** Must be called for each new connection to Redis, because the connection may lead to another server. */
  forget(): void {
    this.#applied = new Map();
    this.#version = undefined;
  }

  /**
   * Removes lifted bans from Redis. Failures are retried by the next call. Rejects with `StorageUnavailable` if
   * PostgreSQL does not respond.
   */
  async apply(): Promise<void> {
    const { versions, servers, snapshotStore } = this.#context;
    const { callers } = versions.postgres;
    if (callers === this.#version || servers.anyAvailable() === undefined) return;
    const applied = this.#applied;
    const lifted = await snapshotStore.listLifted(servers.earliestSecond);
    const missing = lifted.filter(({ keyId, bannedUntil }) => applied.get(keyId) !== bannedUntil);
    let isComplete = true;
    for (let from = 0; from < missing.length; from += groupSize) {
      const group = missing.slice(from, from + groupSize).map(async (ban) => {
        await liftInRedis(this.#context, ban, callers);
        applied.set(ban.keyId, ban.bannedUntil);
      });
      for (const { status } of await Promise.allSettled(group)) isComplete &&= status === 'fulfilled';
    }
    if (!isComplete || applied !== this.#applied) return;
    this.#applied = new Map(lifted.map(({ keyId, bannedUntil }) => [keyId, bannedUntil]));
    this.#version = callers;
  }
}
