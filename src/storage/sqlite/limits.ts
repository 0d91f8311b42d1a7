import { LRUCache } from 'lru-cache';
import { atMost } from '../../domain/bounded.ts';
import type { Clock } from '../../domain/clock.ts';
import {
  asDate,
  asDates,
  decide,
  decideFailure,
  type KeyPenalty,
  type LimitRules,
  peek,
  refund,
  type Usage,
  unused,
  type Verdict,
  type Window,
  type WindowState,
} from '../../domain/limit.ts';
import type { Notice } from '../outage.ts';
import type { Ban, Caller, FailureVerdict } from '../storage.ts';
import type { LimitFile } from './limit-file.ts';
import { type AccountState, LimitSaving } from './limit-saving.ts';

/** How many accounts', keys' and addresses' states are held in memory; the least recently used go to disk. */
const heldStates = 100_000;

/** Counts are reserved on disk ahead of admission in steps of this part of the limit, at least 1. */
const reservedPart = 0.01;

/**
 * Limit state in memory, in front of a file of its own. Only the serving process counts; the command line reads
 * and lifts bans in the file.
 */
export class SqliteLimits {
  readonly #clock: Clock;
  readonly #rules: LimitRules;
  readonly #accounts: LRUCache<number, AccountState>;
  readonly #penalties = new LRUCache<number, KeyPenalty>(atMost(heldStates));
  readonly #addresses = new LRUCache<string, Window>(atMost(heldStates));
  readonly #file: LimitFile;
  readonly #saving: LimitSaving;

  constructor(file: LimitFile, clock: Clock, rules: LimitRules, notice: Notice) {
    this.#clock = clock;
    this.#rules = rules;
    this.#accounts = new LRUCache({ ...atMost(heldStates), dispose: (state, id) => this.#settle(id, state) });
    this.#file = file;
    this.#saving = new LimitSaving(this.#file, notice);
  }

  /** Why limit state is not being saved; undefined while it is. */
  get trouble(): string | undefined {
    return this.#saving.trouble;
  }

  take(caller: Caller): Verdict {
    const account = this.#account(caller.accountId);
    const before = this.#penalty(caller.keyId);
    const { verdict, usage, penalty } = decide(
      account.usage,
      before,
      caller.quota,
      this.#rules.ban,
      this.#clock.steady(),
    );
    if (usage !== account.usage) this.#use(caller, account, usage);
    if (penalty !== before) this.#changePenalty(caller.keyId, before, penalty);
    return asDates(verdict, this.#clock.aheadSeconds);
  }

  refund(caller: Caller, taken: Verdict): Verdict {
    const account = this.#account(caller.accountId);
    const nowMs = this.#clock.steady();
    const { aheadSeconds } = this.#clock;
    const { usage, verdict } = refund(account.usage, asDates(taken, -aheadSeconds), caller.quota, nowMs);
    account.usage = usage;
    return asDates(verdict, aheadSeconds);
  }

  fail(address: string): FailureVerdict {
    const before = this.#addresses.get(address) ?? unused.minute;
    const nowMs = this.#clock.steady();
    const { window, state, refused } = decideFailure(before, this.#rules.failuresPerMinute, nowMs);
    this.#addresses.set(address, window);
    return { state: asDate(state, this.#clock.aheadSeconds), refused };
  }

  peek(address: string): WindowState {
    const window = this.#addresses.get(address) ?? unused.minute;
    const state = peek(window, this.#rules.failuresPerMinute, this.#clock.steady());
    return asDate(state, this.#clock.aheadSeconds);
  }

  bans(): Ban[] {
    return this.#file.bans();
  }

  lift(keyId: number): boolean {
    const lifted = this.#file.lift(keyId);
    if (lifted) {
      this.#penalties.delete(keyId);
      this.#saving.forgetPenalties(keyId);
    }
    return lifted;
  }

  /** Another process changed the file: what stands there about strikes and bans counts. */
  forgetPenalties(): void {
    this.#penalties.clear();
  }

  /** Writes every count exactly as it is; the last call. */
  close(): void {
    this.#saving.close(this.#accounts.entries());
  }

  #account(id: number): AccountState {
    const held = this.#accounts.get(id);
    if (held !== undefined) return held;
    const state = this.#saving.account(id);
    this.#accounts.set(id, state);
    return state;
  }

  #use(caller: Caller, account: AccountState, usage: Usage): void {
    const { reserved } = account;
    account.usage = usage;
    if (isWithin(usage.minute, reserved.minute) && isWithin(usage.day, reserved.day)) return;
    this.#saving.saveAccount(caller.accountId, account, {
      minute: reserve(usage.minute, reserved.minute, caller.quota.perMinute),
      day: reserve(usage.day, reserved.day, caller.quota.perDay),
    });
  }

  #settle(id: number, state: AccountState): void {
    if (state.usage !== state.reserved) this.#saving.saveAccount(id, state, state.usage);
  }

  #penalty(keyId: number): KeyPenalty {
    const held = this.#penalties.get(keyId);
    if (held !== undefined) return held;
    const penalty = this.#saving.penalty(keyId);
    this.#penalties.set(keyId, penalty);
    return penalty;
  }

  /** Strikes and bans go to disk at once; episodes last seconds and stay in memory. */
  #changePenalty(keyId: number, before: KeyPenalty, penalty: KeyPenalty): void {
    this.#penalties.set(keyId, penalty);
    if (penalty.strikes === before.strikes && penalty.bannedUntil === before.bannedUntil) return;
    this.#saving.savePenalty(keyId, penalty);
  }
}

function isWithin(window: Window, reserved: Window): boolean {
  return window.openedAt === reserved.openedAt && window.count <= reserved.count;
}

/** What to reserve so that this count and the next few need no write. */
function reserve(window: Window, reserved: Window, limit: number): Window {
  if (isWithin(window, reserved)) return reserved;
  const step = Math.max(1, Math.floor(limit * reservedPart));
  return {
    openedAt: window.openedAt,
    count: Math.max(window.count, Math.min(window.count + step - 1, limit)),
  };
}
