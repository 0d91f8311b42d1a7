import type { Usage } from '../domain/limit.ts';
import type { Ban } from './storage.ts';

export interface AccountUsage {
  readonly accountId: number;
  readonly usage: Usage;
}

export interface AccountBan extends Ban {
  readonly accountId: number;
}

export type LiftedBan = Omit<AccountBan, 'level'>;

/** Where limits are kept that outlive Redis. Everything rejects with `StorageUnavailable` within its time-out. */
export interface LimitSnapshots {
  findUsages(accountIds: readonly number[]): Promise<ReadonlyMap<number, Usage>>;
  findBans(accountIds: readonly number[]): Promise<readonly AccountBan[]>;
  /** Those that run at this Unix second. */
  listBans(second: number): Promise<readonly AccountBan[]>;
  /** Several instances save the same account: within a window the higher count stays, else the later window. */
  saveUsage(usages: readonly AccountUsage[]): Promise<void>;
  /**
   * Saves bans of different keys. Several instances save the same ones: the later ban of a key stays. A ban that was lifted
   * before it is saved stays lifted: it is known by its end, to a second of rounding.
   */
  saveBans(bans: readonly AccountBan[]): Promise<void>;
  /** Forgets a ban, also one that is saved only after this. Returns the version of callers that tells of it. */
  deleteBan(ban: AccountBan): Promise<number>;
  /** Lifted bans that would run at this Unix second. */
  listLifted(second: number): Promise<readonly LiftedBan[]>;
}
