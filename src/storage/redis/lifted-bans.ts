import type { AccountBan } from '../limit-snapshots.ts';
import type { RedisContext } from './context.ts';

const groupSize = 500;

/** Ends a ban in Redis, unless the key has another one by now. `version` is that of callers when PostgreSQL had it lifted. */
export async function liftInRedis(
  { link, keys, clock }: RedisContext,
  { keyId, accountId, bannedUntil }: Omit<AccountBan, 'level'>,
  version: number,
): Promise<void> {
  await link.run(
    'lift',
    [keys.penalty(accountId, keyId), keys.bans, keys.callers, keys.clock],
    [`${keyId}:${accountId}`, bannedUntil, version, ...clock.arguments()],
  );
}

/**
 * Ends bans in Redis that a process lifted in PostgreSQL and could not end in Redis. Each lifting raises the version of
 * callers, so every instance that reaches both servers notices it there.
 */
export class LiftedBans {
  readonly #context: RedisContext;
  /** The ends of lifted bans that are applied, by key. */
  #applied = new Map<number, number>();
  /** The version of callers in PostgreSQL under which all are applied. */
  #version: number | undefined;

  constructor(context: RedisContext) {
    this.#context = context;
  }

  /** To be called when the connection to Redis is new: it may be another server. */
  forget(): void {
    this.#applied = new Map();
    this.#version = undefined;
  }

  /** Rejects with `StorageUnavailable`, and begins again with the next call. */
  async apply(): Promise<void> {
    const { versions, link, snapshotStore, clock } = this.#context;
    const { callers } = versions.postgres;
    if (callers === this.#version || link.trouble !== undefined) return;
    const applied = this.#applied;
    const lifted = await snapshotStore.listLifted(Math.floor(clock.now() / 1_000));
    const missing = lifted.filter(({ keyId, bannedUntil }) => applied.get(keyId) !== bannedUntil);
    for (let from = 0; from < missing.length; from += groupSize) {
      const group = missing.slice(from, from + groupSize);
      await Promise.all(group.map((ban) => liftInRedis(this.#context, ban, callers)));
    }
    if (applied !== this.#applied) return;
    this.#applied = new Map(lifted.map(({ keyId, bannedUntil }) => [keyId, bannedUntil]));
    this.#version = callers;
  }
}
