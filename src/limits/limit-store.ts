/** The interface of the two implementations of limit state: a memory-mapped file, and Redis. */
import type { Awaitable } from '../domain/awaitable.ts';
import type { Caller } from '../domain/caller.ts';
import type { Versions } from '../domain/resources.ts';
import type { BanStatus } from './ban-status.ts';
import type { BanRules, Verdict, WindowState } from './limit.ts';

/**
 * `verdict` is undefined if the caller is outdated. In that case, nothing was counted, and the caller must be reloaded.
 */
export interface Admission {
  readonly verdict: Verdict | undefined;
  readonly versions: Versions;
}

export interface FailureVerdict {
  readonly state: WindowState;
  readonly refused: boolean;
}

export interface Ban {
  readonly keyId: number;
  /** Unix seconds. */
  readonly bannedUntil: number;
  readonly level: number;
}

/** The properties of a caller that are needed for limits. */
export type LimitedCaller = Pick<Caller, 'accountId' | 'keyId' | 'quota'>;

export interface Standing {
  readonly verdict: Verdict;
  readonly bans: BanStatus;
}

export interface LimitStore {
  readonly banRules: BanRules;
  versions(): Awaitable<Versions>;
  /** The latest versions known to this process, without a request to a server. */
  knownVersions(): Versions;
  /**
   * The verdict on a request if it were sent now, and the ban status. Counts nothing, opens no window and adds no
   * strike.
   */
  standing(caller: LimitedCaller): Awaitable<Standing & { readonly versions: Versions }>;
  /**
   * Checks and counts a request atomically. `callersVersion` is the version of `callers` under which the caller was
   * cached.
   */
  take(caller: Caller, callersVersion: number): Awaitable<Admission>;
  /** Refunds a request that failed with 503. */
  refund(caller: Caller, taken: Verdict): Awaitable<Verdict>;
  fail(address: string): Awaitable<FailureVerdict>;
  /**
   * Like `fail`, but for a key that was not found. Counts nothing and returns undefined if `callersVersion` is
   * outdated.
   */
  failUnder(address: string, callersVersion: number): Awaitable<FailureVerdict | undefined>;
  peek(address: string): Awaitable<WindowState>;
  bans(): Awaitable<Ban[]>;
  /** Lifts a key's ban and clears its strikes and level. Returns false if the key is not banned. */
  lift(keyId: number): Awaitable<boolean>;
}
