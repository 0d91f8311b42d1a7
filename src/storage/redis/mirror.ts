import { LRUCache } from 'lru-cache';
import { atMost } from '../../domain/bounded.ts';
import {
  blameless,
  type Conduct,
  judge,
  judgeFailure,
  type LimitRules,
  peek,
  refund,
  type Usage,
  unused,
  type Verdict,
  type Window,
  type WindowState,
} from '../../domain/limit.ts';
import type { Caller, FailureVerdict } from '../storage.ts';

/** How many accounts', keys' and addresses' states are held. */
export const heldStates = 100_000;

/** What is known of an account, and how much of it was counted here alone. */
export interface Held {
  readonly usage: Usage;
  readonly untoldMinute: number;
  readonly untoldDay: number;
}

/**
 * What this instance last knew of accounts and keys. While Redis is away it goes on from there, by the same law, and
 * remembers what Redis has to be told.
 */
export class Mirror {
  readonly #rules: LimitRules;
  readonly #accounts = new LRUCache<number, Held>(atMost(heldStates));
  readonly #conducts = new LRUCache<number, Conduct>(atMost(heldStates));
  readonly #addresses = new LRUCache<string, Window>(atMost(heldStates));
  readonly #changed = new Set<number>();
  readonly #untold = new Set<number>();

  constructor(rules: LimitRules) {
    this.#rules = rules;
  }

  /** Takes over what Redis says an account has used. */
  learnUsage(accountId: number, usage: Usage): void {
    this.#accounts.set(accountId, { usage, untoldMinute: 0, untoldDay: 0 });
    if (this.#changed.size < heldStates) this.#changed.add(accountId);
  }

  /** Takes over how a key stands. Strikes stay with Redis. */
  learnConduct(keyId: number, conduct: Omit<Conduct, 'strikes'>): void {
    const isBlameless = conduct.episodeUntil === 0 && conduct.bannedUntil === 0;
    if (!isBlameless) this.#conducts.set(keyId, { ...conduct, strikes: [] });
    else if (this.#conducts.size > 0) this.#conducts.delete(keyId);
  }

  /** An operator lifted the key's ban. */
  forgetConduct(keyId: number): void {
    this.#conducts.delete(keyId);
  }

  knows(accountId: number): boolean {
    return this.#accounts.has(accountId);
  }

  held(accountId: number): Held | undefined {
    return this.#accounts.get(accountId);
  }

  conduct(keyId: number): Conduct {
    return this.#conducts.get(keyId) ?? blameless;
  }

  /** Judges and counts a request here alone; `newBan` when it brought one. */
  take(caller: Caller, nowMs: number): { verdict: Verdict; newBan: Conduct | undefined } {
    const before = this.#accounts.get(caller.accountId) ?? { usage: unused, untoldMinute: 0, untoldDay: 0 };
    const known = this.conduct(caller.keyId);
    const { verdict, usage, conduct } = judge(before.usage, known, caller.quota, this.#rules.ban, nowMs);
    if (usage !== before.usage) this.#use(caller.accountId, before, usage, verdict.refusal === undefined);
    if (conduct !== known) this.#conducts.set(caller.keyId, conduct);
    return { verdict, newBan: conduct.bannedUntil > known.bannedUntil ? conduct : undefined };
  }

  refund(caller: Caller, taken: Verdict, nowMs: number): Verdict {
    const before = this.#accounts.get(caller.accountId) ?? { usage: unused, untoldMinute: 0, untoldDay: 0 };
    const { usage, verdict } = refund(before.usage, taken, caller.quota, nowMs);
    const [untoldMinute, untoldDay] = [before.untoldMinute - 1, before.untoldDay - 1].map((n) =>
      Math.max(0, n),
    );
    this.#accounts.set(caller.accountId, {
      usage,
      untoldMinute: untoldMinute ?? 0,
      untoldDay: untoldDay ?? 0,
    });
    return verdict;
  }

  fail(address: string, nowMs: number): FailureVerdict {
    const before = this.#addresses.get(address) ?? unused.minute;
    const { window, state, refused } = judgeFailure(before, this.#rules.failuresPerMinute, nowMs);
    this.#addresses.set(address, window);
    return { state, refused };
  }

  peek(address: string, nowMs: number): WindowState {
    return peek(this.#addresses.get(address) ?? unused.minute, this.#rules.failuresPerMinute, nowMs);
  }

  learnAddress(address: string, window: Window): void {
    this.#addresses.set(address, window);
  }

  /** Whether Redis has to be told something of this account. */
  isUntold(accountId: number): boolean {
    return this.#untold.size > 0 && this.#untold.has(accountId);
  }

  untold(): number[] {
    return [...this.#untold];
  }

  /** What Redis is told of an account; from here on it counts as told. */
  tell(accountId: number): Held | undefined {
    const held = this.#accounts.get(accountId);
    this.#untold.delete(accountId);
    if (held !== undefined) this.#accounts.set(accountId, { ...held, untoldMinute: 0, untoldDay: 0 });
    return held;
  }

  /** It was not told after all. */
  untell(accountId: number, { untoldMinute, untoldDay }: Held): void {
    const held = this.#accounts.get(accountId);
    if (held === undefined) return;
    this.#untold.add(accountId);
    this.#accounts.set(accountId, {
      usage: held.usage,
      untoldMinute: held.untoldMinute + untoldMinute,
      untoldDay: held.untoldDay + untoldDay,
    });
  }

  /** Up to `count` accounts whose usage changed since they were last asked for. */
  takeChanged(count: number): { accountId: number; usage: Usage }[] {
    const ids = [...this.#changed].slice(0, count);
    for (const id of ids) this.#changed.delete(id);
    return ids.flatMap((accountId) => {
      const held = this.#accounts.get(accountId);
      return held === undefined ? [] : [{ accountId, usage: held.usage }];
    });
  }

  /** They could not be saved. */
  putBackChanged(accountIds: readonly number[]): void {
    for (const id of accountIds) this.#changed.add(id);
  }

  #use(accountId: number, before: Held, usage: Usage, counted: boolean): void {
    const untold = (window: Window, old: Window, known: number) => {
      if (window.openedAt !== old.openedAt) return window.count;
      return counted ? known + 1 : known;
    };
    this.#accounts.set(accountId, {
      usage,
      untoldMinute: untold(usage.minute, before.usage.minute, before.untoldMinute),
      untoldDay: untold(usage.day, before.usage.day, before.untoldDay),
    });
    this.#untold.add(accountId);
    this.#changed.add(accountId);
  }
}
