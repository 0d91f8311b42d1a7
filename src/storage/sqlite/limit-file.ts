import type { Database } from 'bun:sqlite';
import type { Clock } from '../../domain/clock.ts';
import {
  type BanRules,
  believableBan,
  type KeyPenalty,
  noPenalty,
  type Usage,
  unused,
} from '../../domain/limit.ts';
import type { Ban } from '../storage.ts';
import { attempt } from './database.ts';
import type { FormatWatch } from './format-watch.ts';

interface UsageRow {
  minuteOpened: bigint;
  minuteCount: bigint;
  dayOpened: bigint;
  dayCount: bigint;
}

interface PenaltyRow {
  keyId: bigint;
  strikes: string;
  bannedUntil: bigint;
  banLevel: bigint;
}

const penaltyColumns = 'key_id AS keyId, strikes, banned_until AS bannedUntil, ban_level AS banLevel';

/** How long a process that stops waits for another one's lock on the file. */
const lastBusyTimeoutMs = 2_000;

/**
 * The statements of the file of limit state. Those that read throw `StorageUnavailable`, those that save as SQLite does.
 * The file has dates, for steady time begins anew with every process; outside of it all but `bans` is steady time.
 */
export class LimitFile {
  readonly #database: Database;
  readonly #format: FormatWatch;
  readonly #clock: Clock;
  readonly #rules: BanRules;
  /** What the clock's `aheadSeconds` was when the file's dates were written. */
  #aheadSeconds: number;
  readonly #loadUsage;
  readonly #saveUsage;
  readonly #loadPenalty;
  readonly #savePenalty;
  readonly #loadBans;
  readonly #deletePenalty;
  readonly #shiftUsage;
  readonly #shiftPenalty;

  constructor(database: Database, format: FormatWatch, clock: Clock, rules: BanRules) {
    this.#clock = clock;
    this.#rules = rules;
    clock.steady();
    this.#aheadSeconds = clock.aheadSeconds;
    this.#format = format;
    this.#database = database;
    this.#loadUsage = database.query<UsageRow, [number]>(
      `SELECT minute_opened AS minuteOpened, minute_count AS minuteCount, day_opened AS dayOpened,
              day_count AS dayCount FROM usage WHERE account_id = ?`,
    );
    this.#saveUsage = database.query<never, [number, number, number, number, number]>(
      'INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?, ?)',
    );
    this.#loadPenalty = database.query<PenaltyRow, [number]>(
      `SELECT ${penaltyColumns} FROM conduct WHERE key_id = ?`,
    );
    this.#savePenalty = database.query<never, [number, string, number, number]>(
      'INSERT OR REPLACE INTO conduct VALUES (?, ?, ?, ?)',
    );
    this.#loadBans = database.query<PenaltyRow, [number]>(
      `SELECT ${penaltyColumns} FROM conduct WHERE banned_until > ? ORDER BY key_id`,
    );
    this.#deletePenalty = database.query<never, [number, number]>(
      'DELETE FROM conduct WHERE key_id = ? AND banned_until > ?',
    );
    this.#shiftUsage = database.query<never, [number, number]>(
      'UPDATE usage SET minute_opened = minute_opened + ?, day_opened = day_opened + ?',
    );
    this.#shiftPenalty = database.query<never, [number, number]>(
      `UPDATE conduct SET banned_until = banned_until + ?,
              strikes = (SELECT json_group_array(value + ?) FROM json_each(strikes))`,
    );
  }

  usage(accountId: number): Usage {
    const row = attempt(() => this.#loadUsage.get(accountId), this.#format);
    if (row === null) return unused;
    const second = Math.floor(this.#clock.steady() / 1_000);
    // A window that is to begin yet, for the date was set back while nobody served, begins now.
    const openedAt = (date: bigint) => Math.min(Number(date) - this.#aheadSeconds, second);
    return {
      minute: { openedAt: openedAt(row.minuteOpened), count: Number(row.minuteCount) },
      day: { openedAt: openedAt(row.dayOpened), count: Number(row.dayCount) },
    };
  }

  saveUsage(accountId: number, { minute, day }: Usage): void {
    this.#followClock();
    const ahead = this.#aheadSeconds;
    this.#saveUsage.run(accountId, minute.openedAt + ahead, minute.count, day.openedAt + ahead, day.count);
  }

  penalty(keyId: number): KeyPenalty {
    const row = attempt(() => this.#loadPenalty.get(keyId), this.#format);
    if (row === null) return noPenalty;
    const ahead = this.#aheadSeconds;
    const banLevel = Number(row.banLevel);
    const bannedUntil = Number(row.bannedUntil) - ahead;
    return {
      ...noPenalty,
      strikes: (JSON.parse(row.strikes) as number[]).map((at) => at - ahead * 1_000),
      bannedUntil: believableBan(bannedUntil, banLevel, this.#rules, this.#clock.steady()),
      banLevel,
    };
  }

  savePenalty(keyId: number, { strikes, bannedUntil, banLevel }: KeyPenalty): void {
    this.#followClock();
    const ahead = this.#aheadSeconds;
    const dates = JSON.stringify(strikes.map((at) => at + ahead * 1_000));
    this.#savePenalty.run(keyId, dates, bannedUntil + ahead, banLevel);
  }

  /** The bans that have not ended; their ends are dates. */
  bans(): Ban[] {
    return attempt(() => this.#loadBans.all(this.#now())).map(({ keyId, bannedUntil, banLevel }) => ({
      keyId: Number(keyId),
      bannedUntil: Number(bannedUntil) + this.#clock.aheadSeconds - this.#aheadSeconds,
      level: Number(banLevel),
    }));
  }

  /** False when the key is not banned. */
  lift(keyId: number): boolean {
    return attempt(() => this.#deletePenalty.run(keyId, this.#now())).changes > 0;
  }

  /** Writes all of it or nothing. */
  together(write: () => void): void {
    // In a transaction of its own, for this one may be rolled back.
    this.#followClock();
    this.#database.transaction(write).immediate();
  }

  /** The present second as the file has dates. */
  #now(): number {
    return Math.floor(this.#clock.steady() / 1_000) + this.#aheadSeconds;
  }

  /** After a step of the system's clock the file's dates are written anew, before the next write; until then they stand. */
  #followClock(): void {
    const { aheadSeconds } = this.#clock;
    const stepSeconds = aheadSeconds - this.#aheadSeconds;
    if (stepSeconds === 0) return;
    this.#database
      .transaction(() => {
        this.#shiftUsage.run(stepSeconds, stepSeconds);
        this.#shiftPenalty.run(stepSeconds, stepSeconds * 1_000);
      })
      .immediate();
    this.#aheadSeconds = aheadSeconds;
  }

  /** From now on locks of other processes are waited for: nobody waits for this one any more. */
  waitForLocks(): void {
    this.#database.run(`PRAGMA busy_timeout = ${lastBusyTimeoutMs}`);
  }
}
