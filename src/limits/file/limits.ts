import type { Caller } from '../../domain/caller.ts';
import type { Clock } from '../../domain/clock.ts';
import { fatalTroubles } from '../../domain/troubles.ts';
import { StorageUnavailable } from '../../outages/errors.ts';
import type { Notify } from '../../outages/outage.ts';
import type { StoreIdentity } from '../../store-files/file-identity.ts';
import {
  capBan,
  decide,
  decideFailure,
  type KeyPenalty,
  type LimitRules,
  noPenalty,
  refund,
  toUnixTime,
  toUnixTimes,
  type Usage,
  type Verdict,
  type WindowState,
  windowState,
} from '../limit.ts';
import type { Ban, FailureVerdict, LimitedCaller, Standing } from '../limit-store.ts';
import { AccountUsageTable } from './account-counts.ts';
import { AddressFailureTable } from './address-failures.ts';
import { SharedClockSteps } from './date-steps.ts';
import { KeyPenaltyTable, liftBan, listBans, longestBan } from './key-penalties.ts';
import type { LimitFile } from './limit-file.ts';
import { effectiveNowMs, readLimitStatus, sanitizeUsage } from './limit-status.ts';
import { RecordLocks } from './record-locks.ts';
import { LimitSync } from './sync.ts';
import type { LimitTable } from './table.ts';

/** Returns the lowest account id that is at least `least`. */
export type FindNextAccount = (least: number) => number | undefined;

/** Limit state of a `LimitStore`, without the versions of callers. */
export interface Limits {
  take(caller: Caller): Verdict;
  standing(caller: LimitedCaller): Standing;
  refund(caller: Caller, taken: Verdict): Verdict;
  fail(address: string): FailureVerdict;
  peek(address: string): WindowState;
  bans(): Ban[];
  lift(keyId: number): boolean;
  /** Reason why limit state is not being saved; undefined if it is. */
  readonly trouble: string | undefined;
  /**
   * Throws `StorageUnavailable` if the state was overwritten. Requests then cannot be counted until the service is
   * restarted.
   */
  expectIntact(): void;
  /** Frees the locks of the last process with this worker number, which must have exited. */
  freeLocksOf(worker: number): void;
  close(): Promise<void>;
}

interface LimitsOptions {
  readonly clock: Clock;
  readonly rules: LimitRules;
  readonly notice: Notify;
  /** Worker number, unique among the processes that count requests. */
  readonly worker: number;
  readonly isSyncing: boolean;
  /** Called every second by the process that syncs the file. */
  readonly onSync?: () => void;
  /** The files of the store, if they may be lost together with the limit file. */
  readonly identity?: StoreIdentity | undefined;
}

/**
 * Limit state in a file that all processes map into memory. The lock of an account also guards the account's keys, and
 * is held for less than a microsecond.
 */
export class FileLimits implements Limits {
  readonly #clock: Clock;
  readonly #rules: LimitRules;
  readonly #notice: Notify;
  readonly #file: LimitFile;
  readonly #locks: RecordLocks;
  readonly #accounts: AccountUsageTable;
  readonly #keys: KeyPenaltyTable;
  readonly #addresses: AddressFailureTable;
  readonly #sync: LimitSync;
  #isDamageReported = false;

  /** Takes ownership of the file. Throws system errors. */
  constructor(file: LimitFile, options: LimitsOptions) {
    const { clock, rules, notice, worker, isSyncing, identity, onSync } = options;
    this.#clock = clock;
    this.#rules = rules;
    this.#notice = notice;
    this.#file = file;
    file.beginCounting(identity);
    this.#locks = new RecordLocks(file, worker);
    this.#accounts = new AccountUsageTable(file);
    this.#keys = new KeyPenaltyTable(file);
    this.#addresses = new AddressFailureTable(file);
    this.#addresses.make(this.#locks);
    this.#sync = new LimitSync(file, notice, isSyncing, onSync);
    clock.share?.(new SharedClockSteps(file, this.#locks));
  }

  get trouble(): string | undefined {
    return this.#sync.trouble;
  }

  expectIntact(): void {
    if (this.#file.isOverwritten) throw new StorageUnavailable(fatalTroubles.limitsOverwritten);
  }

  /** Allocates records for all accounts, so that a full disk is noticed early. Throws system errors. */
  makeRoom(nextAccount: FindNextAccount): void {
    const { table } = this.#accounts;
    const { recordsPerExtent } = table;
    for (let id: number | undefined = 0; id !== undefined; ) {
      table.make(id, this.#locks);
      id = nextAccount((Math.floor(id / recordsPerExtent) + 1) * recordsPerExtent);
    }
  }

  /** If this throws `StorageUnavailable`, nothing was counted. */
  take({ accountId, keyId, quota }: Caller): Verdict {
    const record = this.#recordOf(accountId);
    this.#locks.acquire(record / 4);
    try {
      const steadyMs = this.#clock.steady();
      const usage = this.#usage(record, accountId, steadyMs);
      const nowMs = effectiveNowMs(usage, steadyMs);
      const keyRecord = this.#keys.table.find(keyId);
      const penalty = keyRecord === 0 ? noPenalty : this.#penalty(keyRecord, keyId, nowMs);
      const after = decide(usage, penalty, quota, this.#rules.ban, nowMs);
      if (after.usage !== usage) this.#accounts.write(record, accountId, after.usage);
      if (after.penalty !== penalty) this.#savePenalty(keyId, penalty, after.penalty);
      return toUnixTimes(after.verdict, this.#clock.aheadSeconds);
    } finally {
      this.#locks.release(record / 4);
    }
  }

  /** Writes nothing and allocates no record. Throws `StorageUnavailable`. */
  standing(caller: LimitedCaller): Standing {
    const record = this.#accounts.table.find(caller.accountId);
    if (record !== 0) this.#locks.acquire(record / 4);
    try {
      return readLimitStatus(this.#accounts, this.#keys, caller, this.#clock, this.#rules.ban);
    } finally {
      if (record !== 0) this.#locks.release(record / 4);
    }
  }

  /** If this throws `StorageUnavailable`, nothing was changed. */
  refund({ accountId, quota }: Caller, taken: Verdict): Verdict {
    const record = this.#recordOf(accountId);
    this.#locks.acquire(record / 4);
    try {
      const steadyMs = this.#clock.steady();
      const before = this.#usage(record, accountId, steadyMs);
      const nowMs = effectiveNowMs(before, steadyMs);
      const { aheadSeconds } = this.#clock;
      const { usage, verdict } = refund(before, toUnixTimes(taken, -aheadSeconds), quota, nowMs);
      this.#accounts.write(record, accountId, usage);
      return toUnixTimes(verdict, aheadSeconds);
    } finally {
      this.#locks.release(record / 4);
    }
  }

  fail(address: string): FailureVerdict {
    const set = this.#addresses.find(address);
    this.#locks.acquire(set / 4);
    try {
      const before = this.#addresses.read(set);
      const nowMs = this.#clock.steady();
      const { window, state, refused } = decideFailure(before, this.#rules.failuresPerMinute, nowMs);
      if (window !== before) this.#addresses.write(set, window, nowMs);
      return { state: toUnixTime(state, this.#clock.aheadSeconds), refused };
    } finally {
      this.#locks.release(set / 4);
    }
  }

  peek(address: string): WindowState {
    const set = this.#addresses.find(address);
    this.#locks.acquire(set / 4);
    try {
      const window = this.#addresses.read(set);
      const state = windowState(window, this.#rules.failuresPerMinute, this.#clock.steady());
      return toUnixTime(state, this.#clock.aheadSeconds);
    } finally {
      this.#locks.release(set / 4);
    }
  }

  bans(): Ban[] {
    return listBans(this.#keys, this.#clock, this.#rules.ban);
  }

  lift(keyId: number): boolean {
    return liftBan(this.#keys, keyId, this.#clock, this.#rules.ban);
  }

  freeLocksOf(worker: number): void {
    this.#locks.freeLocksOf(worker);
  }

  async close(): Promise<void> {
    await this.#sync.close();
    this.#file[Symbol.dispose]();
  }

  #recordOf(accountId: number): number {
    const { table } = this.#accounts;
    return table.find(accountId) || this.#made(table, accountId);
  }

  #made(table: LimitTable, id: number): number {
    const make = () => table.make(id, this.#locks);
    try {
      return make();
    } catch (error) {
      if (error instanceof StorageUnavailable) throw error;
      const { message } = error as Error;
      this.#sync.failed(message, make);
      throw new StorageUnavailable(`no room for limit state: ${message}`, error);
    }
  }

  #usage(record: number, accountId: number, nowMs: number): Usage {
    const stored = this.#accounts.read(record, accountId);
    const usage = sanitizeUsage(stored, nowMs);
    if (usage !== stored) this.#accounts.write(record, accountId, usage);
    if (stored === undefined) this.#reportDamage(`account ${accountId}: its limits count as exhausted`);
    return usage;
  }

  #penalty(record: number, keyId: number, nowMs: number): KeyPenalty {
    const penalty = this.#keys.read(record, keyId);
    if (penalty === undefined) {
      const strict = longestBan(this.#rules.ban, nowMs);
      this.#keys.write(record, keyId, noPenalty, strict);
      this.#reportDamage(`key ${keyId}: it is banned (lift the ban with "animal-store bans lift ${keyId}")`);
      return strict;
    }
    if (penalty.bannedUntil === 0) return penalty;
    const bannedUntil = capBan(penalty.bannedUntil, penalty.banLevel, this.#rules.ban, nowMs);
    // The clock of another process may be up to a second ahead.
    if (penalty.bannedUntil - bannedUntil <= 1) return penalty;
    const plausible = { ...penalty, bannedUntil };
    this.#keys.write(record, keyId, penalty, plausible);
    return plausible;
  }

  /** If the disk is full, the penalty is not saved. The request is rejected anyway. */
  #savePenalty(keyId: number, before: KeyPenalty, penalty: KeyPenalty): void {
    const { table } = this.#keys;
    const record = table.find(keyId) || this.#madeIfPossible(table, keyId);
    if (record !== 0) this.#keys.write(record, keyId, before, penalty);
  }

  #madeIfPossible(table: LimitTable, id: number): number {
    try {
      return this.#made(table, id);
    } catch (error) {
      if (error instanceof StorageUnavailable) return 0;
      throw error;
    }
  }

  #reportDamage(what: string): void {
    if (this.#isDamageReported) return;
    this.#isDamageReported = true;
    this.#notice(`limit state is damaged, for example that of ${what}`);
  }
}
