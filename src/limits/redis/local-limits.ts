import { LRUCache } from 'lru-cache';
import type { Caller } from '../../domain/caller.ts';
import { maxStartShift } from '../../domain/clock.ts';
import { maxEntries } from '../../domain/max-entries.ts';
import { banStatus, countStrikes } from '../ban-status.ts';
import {
  currentVerdict,
  daySeconds,
  decide,
  decideFailure,
  type KeyPenalty,
  type LimitRules,
  minuteSeconds,
  noPenalty,
  noUsage,
  refund,
  type Usage,
  type Verdict,
  type Window,
  type WindowState,
  windowState,
} from '../limit.ts';
import type { Ban, FailureVerdict, LimitedCaller, Standing } from '../limit-store.ts';
import { closeEmptyWindows } from './script-replies.ts';

/** Maximum number of entries in each cache: accounts, keys and addresses. */
const maxStates = 100_000;
/** Maximum number of unanswered requests remembered per account. Requests above this limit may be counted twice. */
const maxWithoutReply = 1_000;

interface InDoubtCount {
  readonly number: number;
  readonly count: number;
}

/** A window's count that has not been reported to Redis, and the parts of it that Redis may already have counted. */
export interface Unreported {
  readonly count: number;
  readonly doubts: readonly InDoubtCount[];
}

export interface LocalState {
  readonly usage: Usage;
  readonly minute: Unreported;
  readonly day: Unreported;
}

/** Redis' refusal of failed authentications from an address. */
interface Refusal {
  readonly window: Window;
  /** Lower bound on the offset of Redis' clock from this machine's monotonic time. */
  readonly aheadMs: number;
  /** Monotonic time at which Redis must be asked again. */
  readonly untilMs: number;
}

const noneUnreported: Unreported = { count: 0, doubts: [] };
const oneUnreported: Unreported = { count: 1, doubts: [] };

/**
 * Applies the limit rules to the last known state while Redis is down. Local counts are kept until they are reported.
 * While Redis is up, only its recent refusals of addresses are used.
 */
export class LocalLimits {
  readonly #rules: LimitRules;
  readonly #accounts = new LRUCache<number, LocalState>({
    ...maxEntries(maxStates),
    // Removes evicted accounts from the sets, to limit their size.
    noDisposeOnSet: true,
    dispose: (_held, accountId) => {
      this.#changed.delete(accountId);
      this.#unreported.delete(accountId);
    },
  });
  readonly #penalties = new LRUCache<number, KeyPenalty>(maxEntries(maxStates));
  readonly #addresses = new LRUCache<string, Window>(maxEntries(maxStates));
  readonly #refusals = new LRUCache<string, Refusal>(maxEntries(maxStates));
  /**
   * Numbers of requests to which Redis did not reply, by account. A number is kept until its request is decided
   * locally.
   */
  readonly #unanswered = new LRUCache<number, number[]>(maxEntries(maxStates));
  readonly #changed = new Set<number>();
  readonly #unreported = new Set<number>();

  constructor(rules: LimitRules) {
    this.#rules = rules;
  }

  learnUsage(accountId: number, usage: Usage): void {
    this.#accounts.set(accountId, { usage, minute: noneUnreported, day: noneUnreported });
    this.#changed.add(accountId);
  }

  learnPenalty(keyId: number, penalty: Omit<KeyPenalty, 'strikes'>): void {
    const isClear = penalty.episodeUntil === 0 && penalty.bannedUntil === 0;
    if (!isClear) this.#penalties.set(keyId, { ...penalty, strikes: [] });
    else if (this.#penalties.size > 0) this.#penalties.delete(keyId);
  }

  /**
   * Merges a snapshot. The later window wins, and within the same window, the higher count. A ban that the snapshot
   * does not contain was lifted.
   */
  mergeSnapshot(
    accountId: number,
    keyId: number,
    usage: Usage,
    ban: Pick<Ban, 'bannedUntil' | 'level'>,
  ): void {
    const held = this.#accounts.get(accountId);
    if (held === undefined) this.learnUsage(accountId, usage);
    else {
      const reported = reportedUsage(held);
      const [minute, isNewMinute] = laterWindow(reported.minute, usage.minute, minuteSeconds);
      const [day, isNewDay] = laterWindow(reported.day, usage.day, daySeconds);
      const unreported = {
        minute: isNewMinute ? noneUnreported : held.minute,
        day: isNewDay ? noneUnreported : held.day,
      };
      this.#accounts.set(accountId, {
        usage: { minute: addCount(minute, unreported.minute), day: addCount(day, unreported.day) },
        ...unreported,
      });
    }
    const known = this.penalty(keyId);
    if (known.bannedUntil === ban.bannedUntil) return;
    this.#penalties.set(keyId, { ...known, bannedUntil: ban.bannedUntil, banLevel: ban.level });
  }

  knows(accountId: number): boolean {
    return this.#accounts.has(accountId);
  }

  held(accountId: number): LocalState | undefined {
    return this.#accounts.get(accountId);
  }

  penalty(keyId: number): KeyPenalty {
    return this.#penalties.get(keyId) ?? noPenalty;
  }

  doubt(accountId: number, number: number): void {
    const unanswered = this.#unanswered.get(accountId);
    if (unanswered === undefined) this.#unanswered.set(accountId, [number]);
    else if (unanswered.length < maxWithoutReply) unanswered.push(number);
  }

  take(caller: Caller, nowMs: number): { verdict: Verdict; newBan: KeyPenalty | undefined } {
    const before = this.#accounts.get(caller.accountId) ?? {
      usage: noUsage,
      minute: noneUnreported,
      day: noneUnreported,
    };
    const known = this.penalty(caller.keyId);
    const { verdict, usage, penalty } = decide(before.usage, known, caller.quota, this.#rules.ban, nowMs);
    if (usage !== before.usage) {
      this.#use(caller.accountId, before, usage, verdict.errorCode === undefined);
    }
    if (penalty !== known) this.#penalties.set(caller.keyId, penalty);
    return { verdict, newBan: penalty.bannedUntil > known.bannedUntil ? penalty : undefined };
  }

  /** Returns the standing, without strikes that only Redis knows. */
  standing({ accountId, keyId, quota }: LimitedCaller, nowMs: number): Standing {
    const { ban } = this.#rules;
    const penalty = this.penalty(keyId);
    return {
      verdict: currentVerdict(this.#accounts.get(accountId)?.usage ?? noUsage, penalty, quota, nowMs),
      bans: banStatus(penalty, countStrikes(penalty, ban, nowMs), ban, nowMs),
    };
  }

  refund(caller: Caller, taken: Verdict, nowMs: number): Verdict {
    const before = this.#accounts.get(caller.accountId) ?? {
      usage: noUsage,
      minute: noneUnreported,
      day: noneUnreported,
    };
    const { usage, verdict } = refund(before.usage, taken, caller.quota, nowMs);
    const less = ({ count, doubts }: Unreported): Unreported => ({ count: Math.max(0, count - 1), doubts });
    this.#accounts.set(caller.accountId, { usage, minute: less(before.minute), day: less(before.day) });
    return verdict;
  }

  fail(address: string, nowMs: number): FailureVerdict {
    const before = this.#addresses.get(address) ?? noUsage.minute;
    const { window, state, refused } = decideFailure(before, this.#rules.failuresPerMinute, nowMs);
    this.#addresses.set(address, window);
    return { state, refused };
  }

  peek(address: string, nowMs: number): WindowState {
    return windowState(this.#addresses.get(address) ?? noUsage.minute, this.#rules.failuresPerMinute, nowMs);
  }

  learnAddress(address: string, window: Window): void {
    this.#addresses.set(address, window);
  }

  learnRefusal(address: string, refusal: Refusal): void {
    this.#refusals.set(address, refusal);
  }

  /** Redis' verdict on a failed authentication, if it is known to be a refusal. */
  refusal(address: string, steadyMs: number): FailureVerdict | undefined {
    const known = this.#refusals.get(address);
    if (known === undefined || steadyMs >= known.untilMs) return undefined;
    const { failuresPerMinute } = this.#rules;
    return { state: windowState(known.window, failuresPerMinute, steadyMs + known.aheadMs), refused: true };
  }

  isUnreported(accountId: number): boolean {
    return this.#unreported.size > 0 && this.#unreported.has(accountId);
  }

  unreported(): number[] {
    return [...this.#unreported];
  }

  /** Returns an account's unreported counts and marks them as reported. */
  takeUnreported(accountId: number): LocalState | undefined {
    const held = this.#accounts.get(accountId);
    this.#unreported.delete(accountId);
    if (held !== undefined)
      this.#accounts.set(accountId, { ...held, minute: noneUnreported, day: noneUnreported });
    return held;
  }

  /** Reverts a failed report. If `number` is set, Redis may have received the report with this number. */
  requeueUnreported(accountId: number, { minute, day }: LocalState, number: number | undefined): void {
    const held = this.#accounts.get(accountId);
    if (held === undefined) return;
    this.#unreported.add(accountId);
    this.#accounts.set(accountId, {
      usage: held.usage,
      minute: addUnreported(held.minute, markInDoubt(minute, number)),
      day: addUnreported(held.day, markInDoubt(day, number)),
    });
  }

  /**
   * Returns changed usage, up to this number of accounts, without counts that have not been reported to Redis: every
   * instance reports these itself, and would otherwise add them to a count that already includes them.
   */
  takeChanged(count: number): { accountId: number; usage: Usage }[] {
    const changed: { accountId: number; usage: Usage }[] = [];
    for (const accountId of this.#changed) {
      if (changed.length === count) break;
      this.#changed.delete(accountId);
      const held = this.#accounts.get(accountId);
      if (held !== undefined) changed.push({ accountId, usage: closeEmptyWindows(reportedUsage(held)) });
    }
    return changed;
  }

  /** Treats all counts as reported, so that they are saved although this instance stops before it can report them. */
  giveUpReports(): void {
    for (const accountId of this.#unreported) {
      this.#changed.add(accountId);
      this.takeUnreported(accountId);
    }
  }

  requeueChanged(accountIds: readonly number[]): void {
    for (const id of accountIds) if (this.#accounts.has(id)) this.#changed.add(id);
  }

  #use(accountId: number, before: LocalState, usage: Usage, counted: boolean): void {
    const now = counted ? markInDoubt(oneUnreported, this.#unanswered.get(accountId)?.pop()) : noneUnreported;
    const unreported = (window: Window, old: Window, known: Unreported) =>
      addUnreported(window.openedAt === old.openedAt ? known : noneUnreported, now);
    this.#accounts.set(accountId, {
      usage,
      minute: unreported(usage.minute, before.usage.minute, before.minute),
      day: unreported(usage.day, before.usage.day, before.day),
    });
    this.#unreported.add(accountId);
    this.#changed.add(accountId);
  }
}

/** Returns the usage without the counts that have not been reported to Redis. */
function reportedUsage({ usage, minute, day }: LocalState): Usage {
  return { minute: addCount(usage.minute, minute, -1), day: addCount(usage.day, day, -1) };
}

function addCount({ openedAt, count }: Window, unreported: Unreported, sign = 1): Window {
  return { openedAt, count: count + sign * unreported.count };
}

/**
 * Returns the later window, or the higher count of the same window (`maxStartShift`), and whether `other` is later than
 * `one`.
 */
function laterWindow(one: Window, other: Window, lengthSeconds: number): [Window, boolean] {
  if (Math.abs(one.openedAt - other.openedAt) < lengthSeconds * maxStartShift)
    return [{ ...one, count: Math.max(one.count, other.count) }, false];
  return other.openedAt > one.openedAt ? [other, true] : [one, false];
}

/** Marks the whole count as uncertain if the request with this number got no reply. */
function markInDoubt(unreported: Unreported, number: number | undefined): Unreported {
  if (number === undefined || unreported.count === 0) return unreported;
  return { count: unreported.count, doubts: [{ number, count: unreported.count }] };
}

function addUnreported(one: Unreported, other: Unreported): Unreported {
  return { count: one.count + other.count, doubts: [...one.doubts, ...other.doubts] };
}
