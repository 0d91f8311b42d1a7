import { LRUCache } from 'lru-cache';
import { atMost } from '../../domain/bounded.ts';
import type { AccountBan } from '../limit-snapshots.ts';
import { PeriodicTask } from '../periodic-task.ts';
import { lookEveryMs } from '../shared-versions.ts';
import { bansOf } from './answers.ts';
import type { RedisContext } from './context.ts';
import { restoreBan, restoreBans } from './restored-bans.ts';

const mostUnconfirmed = 100_000;
const groupSize = 500;

/**
 * Brings bans into PostgreSQL, and back into a Redis that lost them before. Each instance that learns of a ban saves it: the
 * one that decided it, those that refuse a request for it, and those that find it in Redis' list of unsaved bans, because
 * an instance may end before it has saved. No request waits for it.
 */
export class BanKeeper implements AsyncDisposable {
  readonly #context: RedisContext;
  /** Saved bans that Redis may have lost before they were saved, by key. */
  readonly #unconfirmed = new LRUCache<number, AccountBan>(atMost(mostUnconfirmed));
  #saving: Promise<void> | undefined;
  #task: PeriodicTask | undefined;

  constructor(context: RedisContext) {
    this.#context = context;
  }

  /** Saves what could not be saved, as soon as that is possible again. */
  start(): void {
    this.#task = new PeriodicTask(lookEveryMs, () => this.keepAll());
  }

  keep(ban: AccountBan): void {
    const { snapshotStore, versions } = this.#context;
    snapshotStore.unsavedBans.set(ban.keyId, { ...ban, callers: versions.redis.callers });
    void this.#save();
  }

  /** Tries again what is left. Resolves when Redis has the bans, or cannot have them now; a save may take longer. */
  async keepAll(): Promise<void> {
    void this.#save();
    if (this.#context.link.trouble !== undefined) return;
    const unconfirmed = [...this.#unconfirmed.values()].slice(0, groupSize);
    await Promise.allSettled([this.#putBack(), this.#takeOver(), this.#confirm(unconfirmed)]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#task?.[Symbol.asyncDispose]();
    await this.#save();
  }

  #save(): Promise<void> {
    this.#saving ??= this.#saveAll().finally(() => {
      this.#saving = undefined;
    });
    return this.#saving;
  }

  async #saveAll(): Promise<void> {
    const { snapshotStore } = this.#context;
    for (;;) {
      const group = [...snapshotStore.unsavedBans.values()].slice(0, groupSize);
      if (group.length === 0) return;
      try {
        await snapshotStore.saveBans(group);
      } catch {
        return;
      }
      for (const ban of group) this.#unconfirmed.set(ban.keyId, ban);
      void this.#confirm(group).catch(() => undefined);
    }
  }

  /** Redis may have lost the bans while they were saved: an instance that restored their accounts did not find them. */
  async #confirm(bans: readonly AccountBan[]): Promise<void> {
    if (bans.length === 0) return;
    const { link, keys } = this.#context;
    const accountIds = new Set(bans.map(({ accountId }) => accountId));
    await Promise.all([...accountIds].map((accountId) => restoreBans(this.#context, accountId)));
    const listed = bans.map(({ keyId, accountId, level }) => `${keyId}:${accountId}:${level}`);
    await link.run('saved', [keys.unsavedBans], listed);
    for (const ban of bans) {
      if (this.#unconfirmed.get(ban.keyId) === ban) this.#unconfirmed.delete(ban.keyId);
    }
  }

  /** Puts back bans that Redis lost while they cannot be saved, unless they may have been lifted. */
  async #putBack(): Promise<void> {
    const unsaved = [...this.#context.snapshotStore.unsavedBans.values()].slice(0, groupSize);
    await Promise.all(unsaved.map((ban) => restoreBan(this.#context, ban, ban.callers)));
  }

  /** Saves bans that another instance decided and has not saved. */
  async #takeOver(): Promise<void> {
    const { link, keys, clock, snapshotStore } = this.#context;
    const listed = bansOf(await link.run('unsaved', [keys.unsavedBans, keys.clock], clock.arguments()));
    for (const ban of listed) {
      if (!snapshotStore.unsavedBans.has(ban.keyId) && !this.#unconfirmed.has(ban.keyId)) this.keep(ban);
    }
  }
}
