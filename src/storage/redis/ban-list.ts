/** The current bans, for operators. If Redis has lost one, it gets it back with the key's next request. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { AccountBan } from '../limit-snapshots.ts';
import { staleAtMostMs } from '../shared-versions.ts';
import { type Ban, StorageUnavailable } from '../storage.ts';
import { bansOf } from './answers.ts';
import type { RedisContext } from './context.ts';
import { liftInRedis } from './lifted-bans.ts';

/** Keys per request, which blocks Redis. */
const atOnce = 500;

export async function listBans(context: RedisContext): Promise<Ban[]> {
  const bans = await runningBans(context);
  return bans.map(({ keyId, bannedUntil, level }) => ({ keyId, bannedUntil, level }));
}

/**
 * Deletes the snapshot first, so that it cannot restore a ban that Redis has deleted. From then on the ban is lifted: if this
 * process cannot reach Redis, another one ends the ban there (`LiftedBans`), and this waits as long as that may take.
 */
export async function liftBan(context: RedisContext, keyId: number): Promise<boolean> {
  const { snapshotStore } = context;
  const ban = (await runningBans(context)).find((one) => one.keyId === keyId);
  if (ban === undefined) return false;
  const version = await snapshotStore.deleteBan(ban);
  try {
    await liftInRedis(context, ban, version);
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error;
    await sleep(staleAtMostMs);
  }
  return true;
}

async function runningBans(context: RedisContext): Promise<AccountBan[]> {
  const saved = await context.snapshotStore.listBans(Math.floor(context.clock.now() / 1_000));
  const { running, known } = await bansInRedis(context, saved).catch((error) => {
    // The snapshots have all of them, except one that is being saved.
    if (error instanceof StorageUnavailable) return { running: [], known: [] };
    throw error;
  });
  const bans = new Map(running.map((ban) => [ban.keyId, ban]));
  for (const [index, ban] of saved.entries()) {
    // A ban that Redis knows but does not list has ended: dates in the snapshots may be older than a step of the clock.
    if (!bans.has(ban.keyId) && known[index] !== 1) bans.set(ban.keyId, ban);
  }
  return [...bans.values()].sort((one, other) => one.keyId - other.keyId);
}

/** The current bans in Redis, and for each saved one whether Redis knows the key's penalty. */
async function bansInRedis(
  { link, keys, clock }: RedisContext,
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
