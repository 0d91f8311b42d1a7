import { LRUCache } from 'lru-cache';
import { atMost } from '../../domain/bounded.ts';
import type { Usage } from '../../domain/limit.ts';
import type { AccountBan, LimitSnapshots } from '../limit-snapshots.ts';
import type { Ban } from '../storage.ts';
import type { LocalLimits } from './local-limits.ts';

export interface AccountSnapshot {
  /** Undefined for an account that never was counted. */
  readonly usage: Usage | undefined;
  readonly bans: readonly Ban[];
}

const snapshotEveryMs = 10_000;
const batchSize = 500;
/** Most concurrent lookups, which leave connections of the pool to others. */
const mostLookUps = 4;
const mostUnsavedBans = 100_000;

interface Question {
  readonly accountId: number;
  readonly resolve: (snapshot: AccountSnapshot) => void;
  readonly reject: (error: unknown) => void;
}

/** Saves the local limits every few seconds, and bans at once; finds them again for many accounts in one statement. */
export class SnapshotStore implements AsyncDisposable {
  readonly #snapshots: LimitSnapshots;
  readonly #localLimits: LocalLimits;
  readonly #unsavedBans = new LRUCache<number, AccountBan>(atMost(mostUnsavedBans));
  readonly #savingBans = new Map<number, Promise<void>>();
  #questions: Question[] = [];
  #lookUps = 0;
  #timer: NodeJS.Timeout | undefined;
  #saving = Promise.resolve();

  constructor(snapshots: LimitSnapshots, localLimits: LocalLimits) {
    this.#snapshots = snapshots;
    this.#localLimits = localLimits;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#saving = this.#saving.then(() => this.#save());
    }, snapshotEveryMs);
    this.#timer.unref();
  }

  /** Rejects with `StorageUnavailable` when it cannot be known. */
  find(accountId: number): Promise<AccountSnapshot> {
    return new Promise((resolve, reject) => {
      this.#questions.push({ accountId, resolve, reject });
      // Further lookups of this event-loop tick join the statement.
      if (this.#questions.length === 1) setImmediate(() => this.#lookUp());
    });
  }

  async listBans(second: number): Promise<readonly AccountBan[]> {
    const unsaved = [...this.#unsavedBans.values()].filter(({ bannedUntil }) => bannedUntil > second);
    return [...(await this.#snapshots.listBans(second)), ...unsaved];
  }

  /** No request waits for it: until it is saved, Redis or this instance has the ban. */
  saveBan(ban: AccountBan): void {
    this.#unsavedBans.set(ban.keyId, ban);
    void this.#saveBan(ban);
  }

  async deleteBan(ban: AccountBan): Promise<number> {
    this.#unsavedBans.delete(ban.keyId);
    // A pending save would undo the deletion.
    await this.#savingBans.get(ban.keyId);
    return this.#snapshots.deleteBan(ban);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#saving;
    await this.#save();
  }

  #lookUp(): void {
    while (this.#questions.length > 0 && this.#lookUps < mostLookUps) {
      this.#lookUps++;
      void this.#answer(this.#questions.splice(0, batchSize)).finally(() => {
        this.#lookUps--;
        this.#lookUp();
      });
    }
  }

  async #answer(questions: readonly Question[]): Promise<void> {
    const ids = questions.map(({ accountId }) => accountId);
    try {
      const [usages, bans] = await Promise.all([
        this.#snapshots.findUsages(ids),
        this.#snapshots.findBans(ids),
      ]);
      const known = Map.groupBy([...bans, ...this.#unsavedBans.values()], (ban) => ban.accountId);
      for (const { accountId, resolve } of questions) {
        resolve({ usage: usages.get(accountId), bans: known.get(accountId) ?? [] });
      }
    } catch (error) {
      for (const { reject } of questions) reject(error);
    }
  }

  #saveBan(ban: AccountBan): Promise<void> {
    const saving = this.#trySaveBan(ban).finally(() => {
      if (this.#savingBans.get(ban.keyId) === saving) this.#savingBans.delete(ban.keyId);
    });
    this.#savingBans.set(ban.keyId, saving);
    return saving;
  }

  async #trySaveBan(ban: AccountBan): Promise<void> {
    try {
      await this.#snapshots.saveBan(ban);
      if (this.#unsavedBans.get(ban.keyId) === ban) this.#unsavedBans.delete(ban.keyId);
    } catch {}
  }

  async #save(): Promise<void> {
    for (const ban of [...this.#unsavedBans.values()]) await this.#saveBan(ban);
    for (;;) {
      const group = this.#localLimits.takeChanged(batchSize);
      if (group.length === 0) return;
      try {
        await this.#snapshots.saveUsage(group);
      } catch {
        this.#localLimits.putBackChanged(group.map(({ accountId }) => accountId));
        return;
      }
    }
  }
}
