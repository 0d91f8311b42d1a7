/** Current bans, for operators. A ban that Redis has lost is restored on the next request with the banned key. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AccountBan } from '../limit-snapshots.ts';
import { maxStaleMs } from '../shared-versions.ts';
import { type Ban, StorageUnavailable } from '../storage.ts';
import { bansOf } from './answers.ts';
import type { RedisContext } from './context.ts';
import { liftInRedis } from './lifted-bans.ts';
import type { Shard } from './shard.ts';

/** Maximum number of keys per script call. Redis is blocked while a script runs. */
const atOnce = 500;

export async function listBans(context: RedisContext): Promise<Ban[]> {
  const bans = await runningBans(context);
  return bans.map(({ keyId, bannedUntil, level }) => ({ keyId, bannedUntil, level }));
}

/**
 * Lifts a ban. The ban counts as lifted once its snapshot is deleted. The snapshot is deleted first, because the ban
 * could otherwise be restored from it. If this process cannot reach Redis, waits until another process has had enough
 * time to end the ban there (`LiftedBans`).
 */
export async function liftBan(context: RedisContext, keyId: number): Promise<boolean> {
  const { servers, snapshotStore } = context;
  const ban = (await runningBans(context)).find((one) => one.keyId === keyId);
  if (ban === undefined) return false;
  const version = await snapshotStore.deleteBan(ban);
  try {
    await liftInRedis(context, ban, version);
    const others = servers.shards.filter((shard) => shard !== servers.of(ban.accountId));
    // If an announcement fails, the shard receives the version from an instance that reads it from PostgreSQL.
    await Promise.allSettled(others.map((shard) => shard.announce('callers', version)));
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error;
    await sleep(maxStaleMs);
  }
  return true;
}

async function runningBans(context: RedisContext): Promise<AccountBan[]> {
  const { servers, snapshotStore } = context;
  const saved = await snapshotStore.listBans(servers.earliestSecond);
  const ofShards = Map.groupBy(saved, ({ accountId }) => servers.of(accountId));
  const lists = servers.shards.map((shard) => runningBansOf(shard, ofShards.get(shard) ?? []));
  return (await Promise.all(lists)).flat().sort((one, other) => one.keyId - other.keyId);
}

async function runningBansOf(shard: Shard, savedBans: readonly AccountBan[]): Promise<AccountBan[]> {
  const second = Math.floor(shard.clock.now() / 1_000);
  const saved = savedBans.filter(({ bannedUntil }) => bannedUntil > second);
  const { running, known } = await bansInRedis(shard, saved).catch((error) => {
    // The snapshots contain all bans, except bans that are still being saved.
    if (error instanceof StorageUnavailable) return { running: [], known: [] };
    throw error;
  });
  const bans = new Map(running.map((ban) => [ban.keyId, ban]));
  for (const [index, ban] of saved.entries()) {
    // If Redis has the key's penalty but does not list the ban, the ban has ended. The clock may have been stepped
    // since the snapshot with the ban's end time was saved.
    if (!bans.has(ban.keyId) && known[index] !== 1) bans.set(ban.keyId, ban);
  }
  return [...bans.values()];
}

/**
 * Returns the current bans in Redis, and a number for each saved ban: 1 if Redis has the key's penalty, otherwise 0.
 */
async function bansInRedis(
  { link, keys, clock }: Shard,
  saved: readonly AccountBan[],
): Promise<{ running: AccountBan[]; known: number[] }> {
  const known: number[] = [];
  for (let from = 0; ; from += atOnce) {
    const asked = saved.slice(from, from + atOnce);
    const penalties = asked.map(({ accountId, keyId }) => keys.penalty(accountId, keyId));
    const answer = await link.run('bans', [keys.bans, keys.clock, ...penalties], clock.arguments());
    const [running, isKnown] = answer as [unknown, number[]];
    known.push(...isKnown);
    if (from + atOnce >= saved.length) return { running: bansOf(running), known };
  }
}
