/** Lists, lifts and restores bans. */
import { setTimeout as sleep } from 'node:timers/promises';
import { maxStaleMs } from '../../domain/shared-versions.ts';
import { StorageUnavailable } from '../../outages/errors.ts';
import type { Ban } from '../limit-store.ts';
import type { AccountBan, BanCorrection } from '../snapshots.ts';
import type { RedisContext } from './context.ts';
import { parseBans } from './script-replies.ts';
import type { Shard } from './shard.ts';
import type { AccountSnapshot } from './snapshot-store.ts';

/** Maximum number of keys per script call. Redis is blocked while a script runs. */
const batchSize = 500;

export async function listBans(context: RedisContext): Promise<Ban[]> {
  const bans = await listActiveBans(context);
  return bans.map(({ keyId, bannedUntil, level }) => ({ keyId, bannedUntil, level }));
}

/**
 * Lifts a ban. The ban counts as lifted once its snapshot is deleted. The snapshot is deleted first, because the ban
 * could otherwise be restored from it. If this process cannot reach Redis, waits until another process has had enough
 * time to end the ban there (`LiftedBans`).
 */
export async function liftBan(context: RedisContext, keyId: number): Promise<boolean> {
  const { servers, snapshotStore } = context;
  const ban = (await listActiveBans(context)).find((one) => one.keyId === keyId);
  if (ban === undefined) return false;
  const version = await snapshotStore.deleteBan(ban);
  try {
    await liftInRedis(context, ban, version);
    const others = servers.shards.filter((shard) => shard !== servers.shardFor(ban.accountId));
    // If an announcement fails, the shard receives the version from an instance that reads it from PostgreSQL.
    await Promise.allSettled(others.map((shard) => shard.announce('callers', version)));
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error;
    await sleep(maxStaleMs);
  }
  return true;
}

async function listActiveBans(context: RedisContext): Promise<AccountBan[]> {
  const { servers, snapshotStore } = context;
  const saved = await snapshotStore.listBans(servers.earliestSecond);
  const ofShards = Map.groupBy(saved, ({ accountId }) => servers.shardFor(accountId));
  const lists = servers.shards.map((shard) => listShardBans(shard, ofShards.get(shard) ?? []));
  return (await Promise.all(lists)).flat().sort((one, other) => one.keyId - other.keyId);
}

async function listShardBans(shard: Shard, savedBans: readonly AccountBan[]): Promise<AccountBan[]> {
  const second = Math.floor(shard.clock.now() / 1_000);
  const saved = savedBans.filter(({ bannedUntil }) => bannedUntil > second);
  try {
    const [running, { missing }] = await Promise.all([readBans(shard), compareBans(shard, saved)]);
    return [...new Map([...missing, ...running].map((ban) => [ban.keyId, ban])).values()];
  } catch (error) {
    // The snapshots contain all bans, except bans that are still being saved.
    if (error instanceof StorageUnavailable) return saved;
    throw error;
  }
}

async function readBans({ link, keys, clock }: Shard): Promise<AccountBan[]> {
  return parseBans(await link.run('bans', [keys.bans, keys.clock], clock.arguments()));
}

interface Comparison {
  /** Saved bans that Redis lacks. */
  readonly missing: AccountBan[];
  /** Saved bans whose end is wrong because the clock was set back, each with its end in Redis. */
  readonly misdated: BanCorrection[];
}

async function compareBans({ link, keys, clock }: Shard, saved: readonly AccountBan[]): Promise<Comparison> {
  const found: Comparison = { missing: [], misdated: [] };
  for (let from = 0; from < saved.length; from += batchSize) {
    const batch = saved.slice(from, from + batchSize);
    const penalties = batch.map(({ accountId, keyId }) => keys.penalty(accountId, keyId));
    const ends = batch.flatMap(({ bannedUntil, level }) => [bannedUntil, level]);
    const reply = await link.run('missingBans', [keys.clock, ...penalties], [...ends, ...clock.arguments()]);
    for (const [index, ban] of batch.entries()) {
      const [bannedUntil = 0, level = 0] = (reply as number[]).slice(2 * index, 2 * index + 2);
      if (bannedUntil === 1) found.missing.push(ban);
      else if (bannedUntil > 1) found.misdated.push({ ban, bannedUntil, level });
    }
  }
  return found;
}

/**
 * Restores saved bans that Redis lacks: an instance imposed them while it could not reach Redis, and may have stopped
 * since. Corrects saved bans whose end is wrong, because they would otherwise be restored once their time has come.
 */
export async function restoreMissingBans(context: RedisContext): Promise<void> {
  const { servers, snapshotStore } = context;
  const saved = await snapshotStore.listBans(servers.earliestSecond);
  const ofShards = Map.groupBy(saved, ({ accountId }) => servers.shardFor(accountId));
  const restored = [...ofShards].map(async ([shard, bans]) => {
    const { missing, misdated } = await compareBans(shard, bans);
    if (misdated.length > 0) await snapshotStore.correctBans(misdated);
    for (let from = 0; from < missing.length; from += batchSize) {
      const accountIds = new Set(missing.slice(from, from + batchSize).map(({ accountId }) => accountId));
      await Promise.allSettled([...accountIds].map((accountId) => restoreBans(context, accountId)));
    }
  });
  await Promise.allSettled(restored);
}

/**
 * Ends a ban in Redis, unless the key already has a newer ban. `version` is the version of `callers` after the ban was
 * lifted in PostgreSQL.
 */
async function liftInRedis(
  { servers }: RedisContext,
  { keyId, accountId, bannedUntil }: Omit<AccountBan, 'level'>,
  version: number,
): Promise<void> {
  const { link, keys, clock } = servers.shardFor(accountId);
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

  /** Must be called for each new connection to Redis, because it may be a connection to another server. */
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
    for (let from = 0; from < missing.length; from += batchSize) {
      const group = missing.slice(from, from + batchSize).map(async (ban) => {
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

/** Maximum number of times bans are read while the version of `callers` keeps changing. */
const maxReads = 4;

/**
 * Restores an account's bans. Resolves with the snapshot that contains these bans. Rejects with `StorageUnavailable`.
 */
export async function restoreBans(context: RedisContext, accountId: number): Promise<AccountSnapshot> {
  const { snapshotStore, servers } = context;
  const { link, keys } = servers.shardFor(accountId);
  for (let reading = 0; reading < maxReads; reading++) {
    const [, callers] = (await link.run('versions', [keys.process, keys.callers], [0, 0])) as [
      string,
      number,
    ];
    const snapshot = await snapshotStore.find(accountId);
    const restored = snapshot.bans.map((ban) => restoreBan(context, { ...ban, accountId }, callers));
    if ((await Promise.all(restored)).every((isRestored) => isRestored)) return snapshot;
  }
  throw new StorageUnavailable('bans change faster than they can be read');
}

/**
 * Restores a ban that was read under this version of `callers`. Resolves with false if the version has changed since
 * then, because the ban may have been lifted.
 */
export async function restoreBan(
  { servers, snapshotStore }: RedisContext,
  { keyId, accountId, bannedUntil, level }: AccountBan,
  callers: number,
): Promise<boolean> {
  const { link, keys, clock } = servers.shardFor(accountId);
  const isUnsaved = snapshotStore.unsavedBans.has(keyId) ? 1 : 0;
  const reply = await link.run(
    'restoreBan',
    [keys.penalty(accountId, keyId), keys.bans, keys.callers, keys.clock],
    [bannedUntil, level, `${keyId}:${accountId}`, callers, isUnsaved, ...clock.arguments()],
  );
  return reply === 1;
}
