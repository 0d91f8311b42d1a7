import type { Usage } from './limit.ts';
import type { Ban } from './limit-store.ts';

export interface AccountUsage {
  readonly accountId: number;
  readonly usage: Usage;
}

export interface AccountBan extends Ban {
  readonly accountId: number;
}

export type LiftedBan = Omit<AccountBan, 'level'>;

/** A saved ban with a wrong end, and the end (Unix seconds) and the level of the key's last ban. */
export interface BanCorrection extends Pick<Ban, 'bannedUntil' | 'level'> {
  readonly ban: AccountBan;
}

/**
 * Stores the limit state that must survive if Redis loses its data. All methods reject with `StorageUnavailable` within
 * the timeout.
 */
export interface LimitSnapshots {
  findUsages(accountIds: readonly number[]): Promise<ReadonlyMap<number, Usage>>;
  findBans(accountIds: readonly number[]): Promise<readonly AccountBan[]>;
  /** Bans in effect at this time (Unix seconds). */
  listBans(second: number): Promise<readonly AccountBan[]>;
  /**
   * Saves usage. Several instances may save the same account: the later window wins, and within a window, the higher
   * count. A window is still the same after a small clock step (`maxStartShift`).
   */
  saveUsage(usages: readonly AccountUsage[]): Promise<void>;
  /**
   * Saves bans of different keys. Several instances may save the same key: the later ban wins. A ban that was lifted
   * before it was saved stays lifted. Lifted bans are identified by their end time, with a tolerance of one second for
   * rounding.
   */
  saveBans(bans: readonly AccountBan[]): Promise<void>;
  /** Corrects the ends of bans, unless they were saved again or lifted in the meantime. */
  correctBans(corrections: readonly BanCorrection[]): Promise<void>;
  /**
   * Deletes a ban. If the ban has not been saved yet, later attempts to save it have no effect. Resolves with the
   * version of `callers` after the deletion.
   */
  deleteBan(ban: AccountBan): Promise<number>;
  /** Lifted bans that would have ended after this time (Unix seconds). */
  listLifted(second: number): Promise<readonly LiftedBan[]>;
}
