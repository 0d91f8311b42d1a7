import type { Database } from 'bun:sqlite';
import { blameless, type Conduct, type Usage, unused } from '../../domain/limit.ts';
import type { Ban } from '../storage.ts';
import { attempt } from './database.ts';
import type { FormatWatch } from './format-watch.ts';

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

const conductColumns = 'key_id AS keyId, strikes, banned_until AS bannedUntil, ban_level AS banLevel';

/** How long a process that stops waits for another one's lock on the file. */
const lastBusyTimeoutMs = 2_000;

/** The statements of the file of limit state. Those that read throw `StorageUnavailable`, those that save as SQLite does. */
export class LimitFile {
  readonly #database: Database;
  readonly #format: FormatWatch;
  readonly #loadUsage;
  readonly #saveUsage;
  readonly #loadConduct;
  readonly #saveConduct;
  readonly #loadBans;
  readonly #deleteConduct;

  constructor(database: Database, format: FormatWatch) {
    this.#format = format;
    this.#database = database;
    this.#loadUsage = database.query<UsageRow, [number]>(
      `SELECT minute_opened AS minuteOpened, minute_count AS minuteCount, day_opened AS dayOpened,
              day_count AS dayCount FROM usage WHERE account_id = ?`,
    );
    this.#saveUsage = database.query<never, [number, number, number, number, number]>(
      'INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?, ?)',
    );
    this.#loadConduct = database.query<ConductRow, [number]>(
      `SELECT ${conductColumns} FROM conduct WHERE key_id = ?`,
    );
    this.#saveConduct = database.query<never, [number, string, number, number]>(
      'INSERT OR REPLACE INTO conduct VALUES (?, ?, ?, ?)',
    );
    this.#loadBans = database.query<ConductRow, [number]>(
      `SELECT ${conductColumns} FROM conduct WHERE banned_until > ? ORDER BY key_id`,
    );
    this.#deleteConduct = database.query<never, [number, number]>(
      'DELETE FROM conduct WHERE key_id = ? AND banned_until > ?',
    );
  }

  usage(accountId: number): Usage {
    const row = attempt(() => this.#loadUsage.get(accountId), this.#format);
    if (row === null) return unused;
    return {
      minute: { openedAt: Number(row.minuteOpened), count: Number(row.minuteCount) },
      day: { openedAt: Number(row.dayOpened), count: Number(row.dayCount) },
    };
  }

  saveUsage(accountId: number, { minute, day }: Usage): void {
    this.#saveUsage.run(accountId, minute.openedAt, minute.count, day.openedAt, day.count);
  }

  conduct(keyId: number): Conduct {
    const row = attempt(() => this.#loadConduct.get(keyId), this.#format);
    if (row === null) return blameless;
    return {
      ...blameless,
      strikes: JSON.parse(row.strikes) as number[],
      bannedUntil: Number(row.bannedUntil),
      banLevel: Number(row.banLevel),
    };
  }

  saveConduct(keyId: number, { strikes, bannedUntil, banLevel }: Conduct): void {
    this.#saveConduct.run(keyId, JSON.stringify(strikes), bannedUntil, banLevel);
  }

  /** The bans that end after `now` (Unix seconds). */
  bans(now: number): Ban[] {
    return attempt(() => this.#loadBans.all(now)).map(({ keyId, bannedUntil, banLevel }) => {
      return { keyId: Number(keyId), bannedUntil: Number(bannedUntil), level: Number(banLevel) };
    });
  }

  /** False when the key is not banned at `now` (Unix seconds). */
  lift(keyId: number, now: number): boolean {
    return attempt(() => this.#deleteConduct.run(keyId, now)).changes > 0;
  }

  /** Writes all of it or nothing. */
  together(write: () => void): void {
    this.#database.transaction(write).immediate();
  }

  /** From now on locks of other processes are waited for: nobody waits for this one any more. */
  waitForLocks(): void {
    this.#database.run(`PRAGMA busy_timeout = ${lastBusyTimeoutMs}`);
  }
}
