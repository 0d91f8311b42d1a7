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

/** Stores the limits that outlive Redis. All methods reject with `StorageUnavailable` within the timeout. */
export interface LimitSnapshots {
  findUsages(accountIds: readonly number[]): Promise<ReadonlyMap<number, Usage>>;
  findBans(accountIds: readonly number[]): Promise<readonly AccountBan[]>;
  /** Bans that are in force at this Unix second. */
  listBans(second: number): Promise<readonly AccountBan[]>;
  /** Several instances save the same account. Keeps the higher count within a window, and the later of two windows. */
  saveUsage(usages: readonly AccountUsage[]): Promise<void>;
  /**
   * Saves bans of different keys. Several instances save the same ones: the later ban of a key is kept. A ban that was
   * lifted before it is saved stays lifted; it is identified by its end, to a second of rounding.
   */
  saveBans(bans: readonly AccountBan[]): Promise<void>;
  /** Deletes a ban, even one that is saved only after this. Returns the version of callers after the deletion. */
  deleteBan(ban: AccountBan): Promise<number>;
  /** Lifted bans whose end is after this Unix second. */
  listLifted(second: number): Promise<readonly LiftedBan[]>;
}
