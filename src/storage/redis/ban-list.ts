import { type Ban, StorageUnavailable } from '../storage.ts';
import { bansOf } from './answers.ts';
import type { RedisKeys } from './keys.ts';
import type { Run } from './link.ts';
import type { Memory } from './memory.ts';

export interface BanListOptions {
  readonly run: Run;
  readonly keys: RedisKeys;
  readonly memory: Memory;
  /** The time scripts are given, if any. */
  readonly now: () => number[];
}

/** The bans that run, for operators. Redis may have lost them, and is given them back with the key's next request. */
export class BanList {
  readonly #options: BanListOptions;

  constructor(options: BanListOptions) {
    this.#options = options;
  }

  /** Those of the memory and of Redis, by their keys; `second` is now, in Unix seconds. */
  async list(second: number): Promise<Ban[]> {
    const [remembered, running] = await Promise.all([
      this.#options.memory.listBans(second),
      // The memory has them all; Redis may have one more that is just being saved.
      this.#running().catch((error) => {
        if (error instanceof StorageUnavailable) return [];
        throw error;
      }),
    ]);
    const bans = new Map<number, Ban>();
    for (const { keyId, bannedUntil, level } of [...remembered, ...running]) {
      if ((bans.get(keyId)?.bannedUntil ?? 0) < bannedUntil) bans.set(keyId, { keyId, bannedUntil, level });
    }
    return [...bans.values()].sort((one, other) => one.keyId - other.keyId);
  }

  /** The memory goes first, so that it cannot give back what Redis has forgotten. */
  async lift(keyId: number, second: number): Promise<boolean> {
    const { run, keys, memory, now } = this.#options;
    const { existed, version } = await memory.deleteBan(keyId, second);
    const lifted = await run('lift', [keys.bans, keys.callers], [keyId, keys.prefix, version, ...now()]);
    return existed || lifted === 1;
  }

  async #running(): Promise<Ban[]> {
    const { run, keys, now } = this.#options;
    return bansOf(await run('bans', [keys.bans], now()));
  }
}
