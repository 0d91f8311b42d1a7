import { type Ban, StorageUnavailable } from '../storage.ts';
import { bansOf } from './answers.ts';
import type { RedisKeys } from './keys.ts';
import type { Run } from './link.ts';
import type { AccountBan, SnapshotStore } from './snapshot-store.ts';

export interface BanListOptions {
  readonly run: Run;
  readonly keys: RedisKeys;
  readonly snapshotStore: SnapshotStore;
  /** The time scripts are given. */
  readonly time: () => number[];
}

/** Keys that Redis is asked for at once: it does nothing else meanwhile. */
const atOnce = 500;

/** The bans that run, for operators. Redis may have lost them, and is given them back with the key's next request. */
export class BanList {
  readonly #options: BanListOptions;

  constructor(options: BanListOptions) {
    this.#options = options;
  }

  /** Those that run, by their keys; `second` is now, in Unix seconds. */
  async list(second: number): Promise<Ban[]> {
    const bans = await this.#all(second);
    return bans.map(({ keyId, bannedUntil, level }) => ({ keyId, bannedUntil, level }));
  }

  /** The snapshots go first, so that they cannot give back what Redis has forgotten. */
  async lift(keyId: number, second: number): Promise<boolean> {
    const { run, keys, snapshotStore } = this.#options;
    const ban = (await this.#all(second)).find((one) => one.keyId === keyId);
    if (ban === undefined) return false;
    const version = await snapshotStore.deleteBan(ban);
    const names = [keys.penalty(ban.accountId, keyId), keys.bans, keys.callers];
    await run('lift', names, [`${keyId}:${ban.accountId}:${ban.level}`, version]);
    return true;
  }

  async #all(second: number): Promise<AccountBan[]> {
    const saved = await this.#options.snapshotStore.listBans(second);
    const { running, known } = await this.#inRedis(saved).catch((error) => {
      // The snapshots have them all, but for one that is just being saved.
      if (error instanceof StorageUnavailable) return { running: [], known: [] };
      throw error;
    });
    const bans = new Map(running.map((ban) => [ban.keyId, ban]));
    for (const [index, ban] of saved.entries()) {
      // Of one that Redis knows and does not list the end has come: dates in the snapshots may be of a clock since stepped.
      if (!bans.has(ban.keyId) && known[index] !== 1) bans.set(ban.keyId, ban);
    }
    return [...bans.values()].sort((one, other) => one.keyId - other.keyId);
  }

  /** The bans that run in Redis, and of each that is remembered whether it knows the key's penalty. */
  async #inRedis(saved: readonly AccountBan[]): Promise<{ running: AccountBan[]; known: number[] }> {
    const { run, keys, time } = this.#options;
    const known: number[] = [];
    for (let from = 0; ; from += atOnce) {
      const asked = saved.slice(from, from + atOnce);
      const penalties = asked.map(({ accountId, keyId }) => keys.penalty(accountId, keyId));
      const answer = (await run('bans', [keys.bans, keys.clock, ...penalties], time())) as [
        unknown,
        number[],
      ];
      known.push(...answer[1]);
      if (from + atOnce >= saved.length) return { running: bansOf(answer[0]), known };
    }
  }
}
