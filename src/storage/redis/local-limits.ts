import { LRUCache } from 'lru-cache';
import { atMost } from '../../domain/bounded.ts';
import {
  decide,
  decideFailure,
  type KeyPenalty,
  type LimitRules,
  noPenalty,
  peek,
  refund,
  standing,
  type Usage,
  unused,
  type Verdict,
  type Window,
  type WindowState,
} from '../../domain/limit.ts';
import type { Ban, Caller, FailureVerdict } from '../storage.ts';

/** How many accounts', keys' and addresses' states are held. */
const heldStates = 100_000;
/** Of one account; beyond them a request may be charged twice. */
const mostUnanswered = 1_000;

/** Something Redis was asked to count and gave no answer to: it may have counted it. */
export interface Doubt {
  /** The number it was asked under. */
  readonly number: number;
  readonly count: number;
}

/** How much of a window was counted locally, and what of that is in doubt. */
export interface Unreported {
  readonly count: number;
  readonly doubts: readonly Doubt[];
}

/** What is known of an account, and what Redis has to be told of it. */
export interface Held {
  readonly usage: Usage;
  readonly minute: Unreported;
  readonly day: Unreported;
}

const none: Unreported = { count: 0, doubts: [] };
const one: Unreported = { count: 1, doubts: [] };

/**
 * What this instance last knew of accounts and keys. While Redis is away it goes on from there, by the same rules, and
 * remembers what Redis has to be told.
 */
export class LocalLimits {
  readonly #rules: LimitRules;
  readonly #accounts = new LRUCache<number, Held>({
    ...atMost(heldStates),
    // The sets name accounts that are held, and no others: so they are bounded, too.
    noDisposeOnSet: true,
    dispose: (_held, accountId) => {
      this.#changed.delete(accountId);
      this.#unreported.delete(accountId);
    },
  });
  readonly #penalties = new LRUCache<number, KeyPenalty>(atMost(heldStates));
  readonly #addresses = new LRUCache<string, Window>(atMost(heldStates));
  /** The numbers Redis was asked under without an answer, by account, until the requests are decided here. */
  readonly #unanswered = new LRUCache<number, number[]>(atMost(heldStates));
  readonly #changed = new Set<number>();
  readonly #unreported = new Set<number>();

  constructor(rules: LimitRules) {
    this.#rules = rules;
  }

  /** Takes over what Redis says an account has used. */
  learnUsage(accountId: number, usage: Usage): void {
    this.#accounts.set(accountId, { usage, minute: none, day: none });
    this.#changed.add(accountId);
  }

  /** Takes over how a key stands. Strikes stay with Redis. */
  learnPenalty(keyId: number, penalty: Omit<KeyPenalty, 'strikes'>): void {
    const isClear = penalty.episodeUntil === 0 && penalty.bannedUntil === 0;
    if (!isClear) this.#penalties.set(keyId, { ...penalty, strikes: [] });
    else if (this.#penalties.size > 0) this.#penalties.delete(keyId);
  }

  /**
   * Takes over what the snapshots say of an account and one of its keys. Of a window the higher count stays, else the
   * later window; a ban the snapshots do not have was lifted.
   */
  recall(accountId: number, keyId: number, usage: Usage, ban: Pick<Ban, 'bannedUntil' | 'level'>): void {
    const held = this.#accounts.get(accountId);
    if (held === undefined) this.learnUsage(accountId, usage);
    else {
      const [minute, isNewMinute] = later(held.usage.minute, usage.minute);
      const [day, isNewDay] = later(held.usage.day, usage.day);
      this.#accounts.set(accountId, {
        usage: { minute, day },
        minute: isNewMinute ? none : held.minute,
        day: isNewDay ? none : held.day,
      });
    }
    const known = this.penalty(keyId);
    if (known.bannedUntil === ban.bannedUntil) return;
    this.#penalties.set(keyId, { ...known, bannedUntil: ban.bannedUntil, banLevel: ban.level });
  }

  knows(accountId: number): boolean {
    return this.#accounts.has(accountId);
  }

  held(accountId: number): Held | undefined {
    return this.#accounts.get(accountId);
  }

  penalty(keyId: number): KeyPenalty {
    return this.#penalties.get(keyId) ?? noPenalty;
  }

  /** Redis was asked to count a request of this account, and whether it did is not known. */
  doubt(accountId: number, number: number): void {
    const unanswered = this.#unanswered.get(accountId);
    if (unanswered === undefined) this.#unanswered.set(accountId, [number]);
    else if (unanswered.length < mostUnanswered) unanswered.push(number);
  }

  /** Checks and counts a request locally; `newBan` when it brought one. */
  take(caller: Caller, nowMs: number): { verdict: Verdict; newBan: KeyPenalty | undefined } {
    const before = this.#accounts.get(caller.accountId) ?? { usage: unused, minute: none, day: none };
    const known = this.penalty(caller.keyId);
    const { verdict, usage, penalty } = decide(before.usage, known, caller.quota, this.#rules.ban, nowMs);
    if (usage !== before.usage) {
      this.#use(caller.accountId, before, usage, verdict.refusal === undefined);
    }
    if (penalty !== known) this.#penalties.set(caller.keyId, penalty);
    return { verdict, newBan: penalty.bannedUntil > known.bannedUntil ? penalty : undefined };
  }

  /** How a caller stands, counting nothing. */
  standing({ accountId, keyId, quota }: Caller, nowMs: number): Verdict {
    return standing(this.#accounts.get(accountId)?.usage ?? unused, this.penalty(keyId), quota, nowMs);
  }

  refund(caller: Caller, taken: Verdict, nowMs: number): Verdict {
    const before = this.#accounts.get(caller.accountId) ?? { usage: unused, minute: none, day: none };
    const { usage, verdict } = refund(before.usage, taken, caller.quota, nowMs);
    const less = ({ count, doubts }: Unreported): Unreported => ({ count: Math.max(0, count - 1), doubts });
    this.#accounts.set(caller.accountId, { usage, minute: less(before.minute), day: less(before.day) });
    return verdict;
  }

  fail(address: string, nowMs: number): FailureVerdict {
    const before = this.#addresses.get(address) ?? unused.minute;
    const { window, state, refused } = decideFailure(before, this.#rules.failuresPerMinute, nowMs);
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
  isUnreported(accountId: number): boolean {
    return this.#unreported.size > 0 && this.#unreported.has(accountId);
  }

  unreported(): number[] {
    return [...this.#unreported];
  }

  /** What Redis is told of an account; from here on it counts as told. */
  report(accountId: number): Held | undefined {
    const held = this.#accounts.get(accountId);
    this.#unreported.delete(accountId);
    if (held !== undefined) this.#accounts.set(accountId, { ...held, minute: none, day: none });
    return held;
  }

  /** It was not told after all; with `number`, it may have been, under that number. */
  undoReport(accountId: number, { minute, day }: Held, number: number | undefined): void {
    const held = this.#accounts.get(accountId);
    if (held === undefined) return;
    this.#unreported.add(accountId);
    const [again, anew] = [minute, day].map((unreported) => inDoubt(unreported, number)) as [
      Unreported,
      Unreported,
    ];
    this.#accounts.set(accountId, {
      usage: held.usage,
      minute: sum(held.minute, again),
      day: sum(held.day, anew),
    });
  }

  /** Up to `count` accounts whose usage changed since they were last asked for. */
  takeChanged(count: number): { accountId: number; usage: Usage }[] {
    const changed: { accountId: number; usage: Usage }[] = [];
    for (const accountId of this.#changed) {
      if (changed.length === count) break;
      this.#changed.delete(accountId);
      const held = this.#accounts.get(accountId);
      if (held !== undefined) changed.push({ accountId, usage: held.usage });
    }
    return changed;
  }

  /** They could not be saved. */
  putBackChanged(accountIds: readonly number[]): void {
    for (const id of accountIds) if (this.#accounts.has(id)) this.#changed.add(id);
  }

  #use(accountId: number, before: Held, usage: Usage, counted: boolean): void {
    const now = counted ? inDoubt(one, this.#unanswered.get(accountId)?.pop()) : none;
    const unreported = (window: Window, old: Window, known: Unreported) =>
      sum(window.openedAt === old.openedAt ? known : none, now);
    this.#accounts.set(accountId, {
      usage,
      minute: unreported(usage.minute, before.usage.minute, before.minute),
      day: unreported(usage.day, before.usage.day, before.day),
    });
    this.#unreported.add(accountId);
    this.#changed.add(accountId);
  }
}

/** Of two states of a window the one that knows more, and whether it is another window than the first. */
function later(one: Window, other: Window): [Window, boolean] {
  if (one.openedAt === other.openedAt) return [other.count > one.count ? other : one, false];
  return other.openedAt > one.openedAt ? [other, true] : [one, false];
}

/** What was asked for under this number and not answered is in doubt as a whole. */
function inDoubt(unreported: Unreported, number: number | undefined): Unreported {
  if (number === undefined || unreported.count === 0) return unreported;
  return { count: unreported.count, doubts: [{ number, count: unreported.count }] };
}

function sum(one: Unreported, other: Unreported): Unreported {
  return { count: one.count + other.count, doubts: [...one.doubts, ...other.doubts] };
}
