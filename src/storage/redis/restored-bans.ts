/** Restores bans that Redis has lost. */
import type { AccountBan } from '../limit-snapshots.ts';
import { StorageUnavailable } from '../storage.ts';
import type { RedisContext } from './context.ts';
import type { AccountSnapshot } from './snapshot-store.ts';

/** Maximum number of times bans are read while the version of `callers` keeps changing. */
const maxReads = 4;

/**
 * Restores an account's bans. Resolves with the snapshot that contains these bans. Rejects with `StorageUnavailable`.
 */
export async function restoreBans(context: RedisContext, accountId: number): Promise<AccountSnapshot> {
  const { snapshotStore, servers } = context;
  const { link, keys } = servers.of(accountId);
  for (let reading = 0; reading < maxReads; reading++) {
    const [callers = 0] = (await link.run('versions', [keys.callers], [0])) as number[];
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
  const { link, keys, clock } = servers.of(accountId);
  const isUnsaved = snapshotStore.unsavedBans.has(keyId) ? 1 : 0;
  const answer = await link.run(
    'restoreBan',
    [keys.penalty(accountId, keyId), keys.bans, keys.callers, keys.clock],
    [bannedUntil, level, `${keyId}:${accountId}`, callers, isUnsaved, ...clock.arguments()],
  );
  return answer === 1;
}
