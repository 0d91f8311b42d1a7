import type { Database } from 'bun:sqlite';
import { LRUCache } from 'lru-cache';
import { atMost } from '../../domain/bounded.ts';
import type { Clock } from '../../domain/clock.ts';
import {
  asDate,
  asDates,
  believableBan,
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
import type { Ban, Caller, FailureVerdict } from '../storage.ts';
import { attempt } from './database.ts';

/** How many accounts', keys' and addresses' states are held in memory; the least recently used go to disk. */
const heldStates = 100_000;

/** Counts are reserved on disk ahead of admission in steps of this part of the limit, at least 1. */
const reservedPart = 0.01;

interface AccountState {
  usage: Usage;
  /** What the disk says: never below `usage`, so that no crash admits anyone over quota. */
  reserved: Usage;
}

interface UsageRow {
  minuteOpened: bigint;
  minuteCount: bigint;
  dayOpened: bigint;
  dayCount: bigint;
}

interface ConductRow {
  keyId: bigint;
  strikes: string;
  bannedUntil: bigint;
  banLevel: bigint;
}

/**
 * Limit state in memory, in front of a file of its own. Only the serving process counts; the command line reads
 * and lifts bans in the file.
 */
export class SqliteLimits {
  readonly #clock: Clock;
  readonly #rules: LimitRules;
  readonly #accounts: LRUCache<number, AccountState>;
  readonly #conducts = new LRUCache<number, Conduct>(atMost(heldStates));
  readonly #addresses = new LRUCache<string, Window>(atMost(heldStates));
  readonly #loadUsage;
  readonly #saveUsage;
  readonly #loadConduct;
  readonly #saveConduct;
  readonly #loadBans;
  readonly #deleteConduct;
  readonly #shiftDates: (seconds: number) => void;
  /** The file has dates: what the clock's `aheadSeconds` was when they were written. */
  #fileAheadSeconds: number;
  /** Why the last write of limit state failed; undefined while they succeed. */
  trouble: string | undefined;

  constructor(database: Database, clock: Clock, rules: LimitRules) {
    this.#clock = clock;
    clock.steady();
    this.#fileAheadSeconds = clock.aheadSeconds;
    this.#rules = rules;
    this.#accounts = new LRUCache({ ...atMost(heldStates), dispose: (state, id) => this.#settle(id, state) });
    this.#loadUsage = database.query<UsageRow, [number]>(
      `SELECT minute_opened AS minuteOpened, minute_count AS minuteCount, day_opened AS dayOpened,
              day_count AS dayCount FROM usage WHERE account_id = ?`,
    );
    this.#saveUsage = database.query<never, [number, number, number, number, number]>(
      'INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?, ?)',
    );
    this.#loadConduct = database.query<ConductRow, [number]>(
      `SELECT key_id AS keyId, strikes, banned_until AS bannedUntil, ban_level AS banLevel
       FROM conduct WHERE key_id = ?`,
    );
    this.#saveConduct = database.query<never, [number, string, number, number]>(
      'INSERT OR REPLACE INTO conduct VALUES (?, ?, ?, ?)',
    );
    this.#loadBans = database.query<ConductRow, [number]>(
      `SELECT key_id AS keyId, strikes, banned_until AS bannedUntil, ban_level AS banLevel
       FROM conduct WHERE banned_until > ? ORDER BY key_id`,
    );
    this.#deleteConduct = database.query<never, [number, number]>(
      'DELETE FROM conduct WHERE key_id = ? AND banned_until > ?',
    );
    const shiftUsage = database.query<never, [number, number]>(
      'UPDATE usage SET minute_opened = minute_opened + ?, day_opened = day_opened + ?',
    );
    const shiftConduct = database.query<never, [number, number]>(
      `UPDATE conduct SET banned_until = banned_until + ?,
              strikes = (SELECT json_group_array(value + ?) FROM json_each(strikes))`,
    );
    this.#shiftDates = database.transaction((seconds: number) => {
      shiftUsage.run(seconds, seconds);
      shiftConduct.run(seconds, seconds * 1_000);
    }).immediate;
  }

  take(caller: Caller): Verdict {
    const account = this.#account(caller.accountId);
    const before = this.#conduct(caller.keyId);
    const { verdict, usage, conduct } = judge(
      account.usage,
      before,
      caller.quota,
      this.#rules.ban,
      this.#clock.steady(),
    );
    if (usage !== account.usage) this.#use(caller, account, usage);
    if (conduct !== before) this.#conductTo(caller.keyId, before, conduct);
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
    const { window, state, refused } = judgeFailure(before, this.#rules.failuresPerMinute, nowMs);
    this.#addresses.set(address, window);
    return { state: asDate(state, this.#clock.aheadSeconds), refused };
  }

  peek(address: string): WindowState {
    const window = this.#addresses.get(address) ?? unused.minute;
    const state = peek(window, this.#rules.failuresPerMinute, this.#clock.steady());
    return asDate(state, this.#clock.aheadSeconds);
  }

  bans(): Ban[] {
    return attempt(() => this.#loadBans.all(this.#fileSecond())).map((row) => ({
      keyId: Number(row.keyId),
      bannedUntil: Number(row.bannedUntil) + this.#clock.aheadSeconds - this.#fileAheadSeconds,
      level: Number(row.banLevel),
    }));
  }

  lift(keyId: number): boolean {
    const lifted = attempt(() => this.#deleteConduct.run(keyId, this.#fileSecond())).changes > 0;
    if (lifted) this.#conducts.delete(keyId);
    return lifted;
  }

  /** Another process changed the file: what stands there about strikes and bans counts. */
  forgetConduct(): void {
    this.#conducts.clear();
  }

  /** Writes every count exactly as it is. */
  flush(): void {
    this.#clock.steady();
    this.#followClock();
    for (const [id, state] of this.#accounts.entries()) this.#settle(id, state);
  }

  #account(id: number): AccountState {
    const held = this.#accounts.get(id);
    if (held !== undefined) return held;
    const usage = this.#storedUsage(id);
    const state = { usage, reserved: usage };
    this.#accounts.set(id, state);
    return state;
  }

  #storedUsage(id: number): Usage {
    const row = attempt(() => this.#loadUsage.get(id));
    if (row === null) return unused;
    const second = Math.floor(this.#clock.steady() / 1_000);
    // A window that is to begin yet, for the date was set back while nobody served, begins now.
    const openedAt = (date: bigint) => Math.min(Number(date) - this.#fileAheadSeconds, second);
    return {
      minute: { openedAt: openedAt(row.minuteOpened), count: Number(row.minuteCount) },
      day: { openedAt: openedAt(row.dayOpened), count: Number(row.dayCount) },
    };
  }

  #use(caller: Caller, account: AccountState, usage: Usage): void {
    const { reserved } = account;
    account.usage = usage;
    if (isWithin(usage.minute, reserved.minute) && isWithin(usage.day, reserved.day)) return;
    this.#store(caller.accountId, account, {
      minute: reserve(usage.minute, reserved.minute, caller.quota.perMinute),
      day: reserve(usage.day, reserved.day, caller.quota.perDay),
    });
  }

  #settle(id: number, state: AccountState): void {
    if (state.usage !== state.reserved) this.#store(id, state, state.usage);
  }

  #store(id: number, state: AccountState, { minute, day }: Usage): void {
    this.#followClock();
    const ahead = this.#fileAheadSeconds;
    const saved = this.#tried(() =>
      this.#saveUsage.run(id, minute.openedAt + ahead, minute.count, day.openedAt + ahead, day.count),
    );
    if (saved) state.reserved = { minute, day };
  }

  #conduct(keyId: number): Conduct {
    const held = this.#conducts.get(keyId);
    if (held !== undefined) return held;
    const row = attempt(() => this.#loadConduct.get(keyId));
    const conduct = row === null ? blameless : this.#conductOf(row);
    this.#conducts.set(keyId, conduct);
    return conduct;
  }

  #conductOf(row: ConductRow): Conduct {
    const ahead = this.#fileAheadSeconds;
    const banLevel = Number(row.banLevel);
    const bannedUntil = Number(row.bannedUntil) - ahead;
    return {
      ...blameless,
      strikes: (JSON.parse(row.strikes) as number[]).map((at) => at - ahead * 1_000),
      bannedUntil: believableBan(bannedUntil, banLevel, this.#rules.ban, this.#clock.steady()),
      banLevel,
    };
  }

  /** Strikes and bans go to disk at once; episodes last seconds and stay in memory. */
  #conductTo(keyId: number, before: Conduct, conduct: Conduct): void {
    this.#conducts.set(keyId, conduct);
    if (conduct.strikes === before.strikes && conduct.bannedUntil === before.bannedUntil) return;
    this.#followClock();
    const ahead = this.#fileAheadSeconds;
    const strikes = JSON.stringify(conduct.strikes.map((at) => at + ahead * 1_000));
    this.#tried(() => this.#saveConduct.run(keyId, strikes, conduct.bannedUntil + ahead, conduct.banLevel));
  }

  /** The present second as the file has dates. */
  #fileSecond(): number {
    return Math.floor(this.#clock.steady() / 1_000) + this.#fileAheadSeconds;
  }

  /** After a step of the system's clock the file's dates are written anew, with the next write; until then they stand. */
  #followClock(): void {
    const { aheadSeconds } = this.#clock;
    const stepSeconds = aheadSeconds - this.#fileAheadSeconds;
    if (stepSeconds !== 0 && this.#tried(() => this.#shiftDates(stepSeconds))) {
      this.#fileAheadSeconds = aheadSeconds;
    }
  }

  /** A disk that cannot be written must not stop reads: the counts go on in memory, and operators are told. */
  #tried(write: () => unknown): boolean {
    try {
      write();
      this.trouble = undefined;
      return true;
    } catch (error) {
      this.trouble = `limit state is not being saved: ${(error as Error).message}`;
      return false;
    }
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
