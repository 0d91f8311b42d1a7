/** Changes to a sandbox's store that bypass the service's rules. */
import { Database } from 'bun:sqlite';
import { maxWorkers } from '../src/domain/workers.ts';
import { AccountUsageTable } from '../src/limits/file/account-counts.ts';
import { KeyPenaltyTable } from '../src/limits/file/key-penalties.ts';
import { extentBytes, extentHeaderBytes, limitTables } from '../src/limits/file/layout.ts';
import { LimitFile } from '../src/limits/file/limit-file.ts';
import { RecordLocks } from '../src/limits/file/record-locks.ts';
import { noPenalty, noUsage, type Usage } from '../src/limits/limit.ts';
import { resolveStoreFiles } from '../src/store-files/files.ts';
import { tryLock } from '../src/store-files/serving-lock.ts';

/**
 * Locks a file until the lock is disposed of or the process ends, even if it is killed; undefined if another process
 * holds the lock.
 */
export function lockFile(path: string): Disposable | undefined {
  return tryLock({ lock: path }, 0);
}

export class SandboxStore implements Disposable {
  readonly #data: Database;
  readonly #limits: LimitFile;
  readonly #locks: RecordLocks;
  readonly #accounts: AccountUsageTable;
  readonly #keys: KeyPenaltyTable;
  readonly #tables: readonly string[];

  constructor(path: string, start: string) {
    this.#data = new Database(path, { readwrite: true, strict: true });
    this.#data.run('PRAGMA busy_timeout = 5000');
    // The data is temporary, so it need not survive a power failure.
    this.#data.run('PRAGMA synchronous = OFF');
    this.#data.run('PRAGMA foreign_keys = OFF');
    this.#data.query('ATTACH DATABASE ? AS start').run(start);
    this.#tables = this.#data
      .query<{ name: string }, []>(
        `SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'versions'
         ORDER BY name = 'sqlite_sequence'`,
      )
      .all()
      .map(({ name }) => name);
    this.#limits = new LimitFile(resolveStoreFiles(path).limits);
    this.#locks = new RecordLocks(this.#limits, maxWorkers);
    this.#accounts = new AccountUsageTable(this.#limits);
    this.#keys = new KeyPenaltyTable(this.#limits);
  }

  /** Restores the initial state, including the next ids, and clears all counts. */
  restoreInitial(): void {
    const all = this.#data.transaction(() => {
      for (const table of this.#tables) {
        this.#data.run(`DELETE FROM main.${table}`);
        this.#data.run(`INSERT INTO main.${table} SELECT * FROM start.${table}`);
      }
      // Raises the versions, so that caches are refreshed.
      this.#data.run('UPDATE main.versions SET version = version + 1');
    });
    all.immediate();
    for (const { directory, slots } of Object.values(limitTables)) {
      for (let slot = 0; slot < slots; slot++) this.#clear(this.#limits.i32[directory + slot] as number);
    }
  }

  usage(accountId: number): Usage {
    return this.#accounts.read(this.#accounts.table.find(accountId), accountId) ?? noUsage;
  }

  setUsage(accountId: number, usage: Usage): void {
    this.#accounts.write(this.#accounts.table.make(accountId, this.#locks), accountId, usage);
  }

  /** Bans a key. `bannedUntil` is in seconds of monotonic time. */
  ban(keyId: number, bannedUntil: number, banLevel: number): void {
    const record = this.#keys.table.make(keyId, this.#locks);
    const before = this.#keys.read(record, keyId) ?? noPenalty;
    this.#keys.write(record, keyId, before, { ...noPenalty, bannedUntil, banLevel });
  }

  [Symbol.dispose](): void {
    this.#data.close();
    this.#limits[Symbol.dispose]();
  }

  /** Clears all records of an extent. No locks are needed, because requests are counted in this thread. */
  #clear(extent: number): void {
    if (extent === 0) return;
    this.#limits.reach(extent);
    const from = extent * extentBytes;
    this.#limits.i32.fill(0, (from + extentHeaderBytes) / 4, (from + extentBytes) / 4);
  }
}
