import { LRUCache } from 'lru-cache';
import { maxEntries } from '../../domain/max-entries.ts';
import type { Usage } from '../limit.ts';
import type { Ban } from '../limit-store.ts';
import type { AccountBan, BanCorrection, LiftedBan, LimitSnapshots } from '../snapshots.ts';
import type { LocalLimits } from './local-limits.ts';

export interface AccountSnapshot {
  /** Undefined for an account without counted requests. */
  readonly usage: Usage | undefined;
  readonly bans: readonly Ban[];
}

const snapshotEveryMs = 10_000;
const batchSize = 500;
/** Maximum number of concurrent lookups, low enough to leave connections in the pool for other statements. */
const maxLookups = 4;
const maxUnsavedBans = 100_000;

interface Question {
  readonly accountId: number;
  readonly resolve: (snapshot: AccountSnapshot) => void;
  readonly reject: (error: unknown) => void;
}

interface UnsavedBan extends AccountBan {
  /** A version of `callers` in Redis at which the ban was in effect. */
  readonly callers: number;
}

/**
 * Saves local limits every few seconds. Looks up the limits of many accounts with one statement, and their bans with
 * another.
 */
export class SnapshotStore implements AsyncDisposable {
  readonly #snapshots: LimitSnapshots;
  readonly #localLimits: LocalLimits;
  /** Bans that PostgreSQL may lack, by key id. Lookups treat them like saved bans. */
  readonly unsavedBans = new LRUCache<number, UnsavedBan>(maxEntries(maxUnsavedBans));
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

  /** Finds an account's snapshot. Rejects with `StorageUnavailable` if the snapshot cannot be read. */
  find(accountId: number): Promise<AccountSnapshot> {
    return new Promise((resolve, reject) => {
      this.#questions.push({ accountId, resolve, reject });
      // Other lookups in this event-loop tick share the statement.
      if (this.#questions.length === 1) setImmediate(() => this.#lookUp());
    });
  }

  async listBans(second: number): Promise<readonly AccountBan[]> {
    const unsaved = [...this.unsavedBans.values()].filter(({ bannedUntil }) => bannedUntil > second);
    return [...(await this.#snapshots.listBans(second)), ...unsaved];
  }

  listLifted(second: number): Promise<readonly LiftedBan[]> {
    return this.#snapshots.listLifted(second);
  }

  async saveBans(bans: readonly UnsavedBan[]): Promise<void> {
    await this.#snapshots.saveBans(bans);
    for (const ban of bans) if (this.unsavedBans.get(ban.keyId) === ban) this.unsavedBans.delete(ban.keyId);
  }

  correctBans(corrections: readonly BanCorrection[]): Promise<void> {
    return this.#snapshots.correctBans(corrections);
  }

  /** Deletes a ban. A pending save does not restore the ban. */
  async deleteBan(ban: AccountBan): Promise<number> {
    const version = await this.#snapshots.deleteBan(ban);
    this.unsavedBans.delete(ban.keyId);
    return version;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.#saving;
    this.#localLimits.giveUpReports();
    await this.#save();
  }

  #lookUp(): void {
    while (this.#questions.length > 0 && this.#lookUps < maxLookups) {
      this.#lookUps++;
      void this.#read(this.#questions.splice(0, batchSize)).finally(() => {
        this.#lookUps--;
        this.#lookUp();
      });
    }
  }

  async #read(questions: readonly Question[]): Promise<void> {
    const ids = questions.map(({ accountId }) => accountId);
    try {
      const [usages, bans] = await Promise.all([
        this.#snapshots.findUsages(ids),
        this.#snapshots.findBans(ids),
      ]);
      // If a key has two bans, the later ban comes first.
      const latest = [...bans, ...this.unsavedBans.values()].sort(
        (one, other) => other.bannedUntil - one.bannedUntil,
      );
      const known = Map.groupBy(latest, (ban) => ban.accountId);
      for (const { accountId, resolve } of questions) {
        resolve({ usage: usages.get(accountId), bans: known.get(accountId) ?? [] });
      }
    } catch (error) {
      for (const { reject } of questions) reject(error);
    }
  }

  async #save(): Promise<void> {
    for (;;) {
      const group = this.#localLimits.takeChanged(batchSize);
      if (group.length === 0) return;
      try {
        await this.#snapshots.saveUsage(group);
      } catch {
        this.#localLimits.requeueChanged(group.map(({ accountId }) => accountId));
        return;
      }
    }
  }
}
