import { LRUCache } from 'lru-cache';
import { maxEntries } from '../../domain/max-entries.ts';
import { pollIntervalMs } from '../../domain/shared-versions.ts';
import { PeriodicTask } from '../../outages/periodic-task.ts';
import type { AccountBan } from '../snapshots.ts';
import { restoreBan, restoreBans, restoreMissingBans } from './ban-list.ts';
import type { RedisContext } from './context.ts';
import type { Shard } from './shard.ts';

const maxUnconfirmed = 100_000;
const groupSize = 500;
/** Unsaved bans of other instances are read once a second, because only an instance that stopped leaves them unsaved. */
const pollsPerTakeOver = 4;
/** Redis is compared with PostgreSQL every 10 s. */
const pollsPerComparison = 40;

/**
 * Saves bans in PostgreSQL, and restores bans that Redis lost before they were saved. Every instance that learns of a
 * ban saves it, because another instance may stop before it has saved the ban. An instance learns of a ban when it bans
 * a key, when it rejects a request made with a banned key, or from Redis' list of unsaved bans. Requests do not wait
 * until bans are saved.
 */
export class BanKeeper implements AsyncDisposable {
  readonly #context: RedisContext;
  /** Bans that Redis may have lost while they were being saved, by key id. */
  readonly #unconfirmed = new LRUCache<number, AccountBan>(maxEntries(maxUnconfirmed));
  #saving: Promise<void> | undefined;
  #task: PeriodicTask | undefined;
  #polls = 0;
  #turns = 0;

  constructor(context: RedisContext) {
    this.#context = context;
  }

  /** Starts periodic retries of pending bans, and restores bans that Redis lacks. */
  start(): void {
    void this.keepAll();
    this.#task = new PeriodicTask(pollIntervalMs, () => {
      const polls = ++this.#polls;
      return this.#keepPending(polls % pollsPerTakeOver === 0, polls % pollsPerComparison === 0);
    });
  }

  keep(ban: AccountBan): void {
    const { snapshotStore, servers } = this.#context;
    const { callers } = servers.shardFor(ban.accountId).lastReported;
    snapshotStore.unsavedBans.set(ban.keyId, { ...ban, callers });
    void this.#save();
  }

  /** Retries pending bans. Resolves when Redis has the bans or is unavailable. Saving the bans may take longer. */
  keepAll(): Promise<void> {
    return this.#keepPending(true, true);
  }

  async #keepPending(takesOver: boolean, compares: boolean): Promise<void> {
    void this.#save();
    if (this.#context.servers.anyAvailable() === undefined) return;
    const unconfirmed = [...this.#unconfirmed.values()].slice(0, groupSize);
    const taken = takesOver ? this.#takeOver() : undefined;
    const missing = compares ? restoreMissingBans(this.#context) : undefined;
    await Promise.allSettled([this.#restoreLost(), taken, missing, this.#confirm(unconfirmed)]);
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

  /**
   * Restores bans that Redis lost while they were being saved. An account that was restored before the ban was saved
   * does not have the ban.
   */
  async #confirm(bans: readonly AccountBan[]): Promise<void> {
    const { servers } = this.#context;
    const groups = Map.groupBy(bans, ({ accountId }) => servers.shardFor(accountId));
    await Promise.all([...groups].map(([shard, group]) => this.#confirmIn(shard, group)));
  }

  async #confirmIn({ link, keys }: Shard, bans: readonly AccountBan[]): Promise<void> {
    const accountIds = new Set(bans.map(({ accountId }) => accountId));
    await Promise.all([...accountIds].map((accountId) => restoreBans(this.#context, accountId)));
    const listed = bans.map(({ keyId, accountId, level }) => `${keyId}:${accountId}:${level}`);
    await link.run('saved', [keys.unsavedBans], listed);
    for (const ban of bans) {
      if (this.#unconfirmed.get(ban.keyId) === ban) this.#unconfirmed.delete(ban.keyId);
    }
  }

  /** Restores unsaved bans that Redis has lost, unless they may have been lifted. */
  async #restoreLost(): Promise<void> {
    const unsaved = [...this.#context.snapshotStore.unsavedBans.values()].slice(0, groupSize);
    await Promise.allSettled(unsaved.map((ban) => restoreBan(this.#context, ban, ban.callers)));
  }

  /** Saves bans that another instance imposed but has not saved. */
  async #takeOver(): Promise<void> {
    const { servers, snapshotStore } = this.#context;
    const take = async (shard: Shard) => {
      for (const ban of await shard.unsavedBans()) {
        if (!snapshotStore.unsavedBans.has(ban.keyId) && !this.#unconfirmed.has(ban.keyId)) this.keep(ban);
      }
    };
    await Promise.allSettled(servers.inTurn(++this.#turns).map(take));
  }
}
