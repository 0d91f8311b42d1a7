import { Database, SQLiteError } from 'bun:sqlite';
import type { Notice } from '../outage.ts';
import { StorageUnavailable, StorageUnusable, WriteUncertain } from '../storage.ts';
import { backupApplicationId } from './backup/backup-file.ts';
import { fileReason, noStore } from './files.ts';

/** A step of a migration: statements, or what SQL alone cannot do. */
export type Migration = string | ((database: Database) => void);

/** Ordered steps that bring a file of any older version up to date; the file's `user_version` counts them. */
export type Migrations = readonly Migration[];

/** What a file of a store is, and how it came to be so. */
export interface Format {
  readonly migrations: Migrations;
  /** A table that tells the files of a store apart: each has one that no other has. */
  readonly table: string;
}

/** Marks a file as this service's, so that another program's database is never migrated ("AnSt"). */
export const storeApplicationId = 0x416e5374;

/** Pages of a file kept in memory, filled as they are asked for; a read past them costs a system call more. */
const readingCacheKib = 8_192;
/** Whoever only writes comes back to the last pages of each tree, and of each category and status in an index. */
export const writingCacheKib = 4_096;

export interface DatabaseOptions {
  /** Of a file that is there. */
  readonly path: string;
  readonly format: Format;
  /** Whether a file with nothing in it is filled; else it is no store. */
  readonly create: boolean;
  /** How much of the file is kept in memory at most. */
  readonly cacheKib?: number;
  /** How long a statement may wait for another process's lock, blocking this one. */
  readonly busyTimeoutMs: number;
  /**
   * Called before a file is migrated, for the lock under which that is done. Undefined when another process has it;
   * it may throw `StorageUnusable` itself.
   */
  readonly lock: () => Disposable | undefined;
  /** Reports a migration. */
  readonly notice?: Notice;
}

/** Opens a file of a store and brings it up to date. Throws `StorageUnusable`, having changed nothing. */
export function openDatabase(options: DatabaseOptions): Database {
  const { path, format, create, cacheKib = readingCacheKib, busyTimeoutMs, lock, notice } = options;
  let database: Database | undefined;
  try {
    database = new Database(path, { readwrite: true, strict: true, safeIntegers: true });
    database.run('PRAGMA busy_timeout = 5000');
    // Setting the journal mode already writes to the file, so all that may be wrong with it is checked before.
    check(database, path, format, create);
    using _held = isOutdated(database, format) ? lock() : undefined;
    if (isOutdated(database, format) && _held === undefined) throw inUse(database, path, format);
    database.run('PRAGMA journal_mode = WAL');
    database.run(`PRAGMA cache_size = -${cacheKib}`);
    // A commit survives power loss.
    database.run('PRAGMA synchronous = FULL');
    const former = migrate(database, format);
    if (former > 0) notice?.(`migrated ${path} from format ${former} to ${format.migrations.length}`);
    // After the migration, which may rebuild a table that others refer to. SQLite does not enforce them by default.
    database.run('PRAGMA foreign_keys = ON');
    database.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    return database;
  } catch (error) {
    database?.close();
    if (error instanceof StorageUnusable) throw error;
    throw new StorageUnusable(`Cannot open the data file ${path}: ${fileReason(error as Error, path)}.`);
  }
}

/** Returns the format that the file had before; 0 when it was empty or up to date. */
function migrate(database: Database, { migrations }: Format): number {
  if (pragma(database, 'user_version') === migrations.length) return 0;
  // IMMEDIATE, and the version is read again inside: processes that start at once migrate one after the other.
  const all = database.transaction(() => {
    const current = pragma(database, 'user_version');
    for (const step of migrations.slice(current)) {
      if (typeof step === 'string') database.run(step);
      else step(database);
    }
    database.run(`PRAGMA application_id = ${storeApplicationId}`);
    database.run(`PRAGMA user_version = ${migrations.length}`);
    return current === migrations.length ? 0 : current;
  });
  const former = all.immediate();
  // The log of a large store's migration would keep its size for as long as somebody has the file open.
  database.run('PRAGMA wal_checkpoint(TRUNCATE)');
  return former;
}

/** Throws `StorageUnusable` unless the file is what it is to be, or may become it. */
function check(database: Database, path: string, { migrations, table }: Format, create: boolean): void {
  if (isEmpty(database)) {
    if (create) return;
    throw noStore(path);
  }
  checkOwner(database, path);
  const version = pragma(database, 'user_version');
  if (version > migrations.length) {
    throw new StorageUnusable(
      `The data file ${path} was written by a newer version of the service (format ${version}, this version ` +
        `supports up to ${migrations.length}). Use that version or a newer one.`,
    );
  }
  if (database.query('SELECT 1 FROM sqlite_schema WHERE name = ?').all(table).length === 0) {
    throw new StorageUnusable(
      `The file ${path} belongs to a store, but is not its data file (it has no table "${table}"). Set ` +
        'DATABASE_URL to the data file.',
    );
  }
}

function isOutdated(database: Database, { migrations }: Format): boolean {
  return pragma(database, 'user_version') < migrations.length;
}

function inUse(database: Database, path: string, { migrations }: Format): StorageUnusable {
  return new StorageUnusable(
    `${path} is in use by a service with format ${pragma(database, 'user_version')}; this version is newer and needs ` +
      `format ${migrations.length}. Upgrade or stop the service first, or run this command in the version of the ` +
      'service. Nothing was changed.',
  );
}

function checkOwner(database: Database, path: string): void {
  const id = pragma(database, 'application_id');
  if (id === storeApplicationId) return;
  if (id === backupApplicationId) {
    throw new StorageUnusable(
      `${path} is a backup. To serve what is in it, restore it: animal-store restore ${path} --to PATH`,
    );
  }
  throw new StorageUnusable(
    `The file ${path} is a database of another program. Set DATABASE_URL to another file.`,
  );
}

function isEmpty(database: Database): boolean {
  return database.query('SELECT 1 FROM sqlite_schema LIMIT 1').all().length === 0;
}

function pragma(database: Database, name: string): number {
  const [row] = database.query<Record<string, bigint>, []>(`PRAGMA ${name}`).all();
  return Number(row?.[name]);
}

/** Codes that mean "not now": the disk or a lock, not a mistake of ours. */
const passing = /^SQLITE_(FULL|READONLY|IOERR|BUSY|CANTOPEN|LOCKED|PROTOCOL|NOMEM|PERM)/;
const busy = /^SQLITE_BUSY/;
const brokenOff = /^SQLITE_IOERR/;
const misfit = /^SQLITE_(ERROR|SCHEMA|CONSTRAINT|MISMATCH)/;

function hasCode(error: unknown, codes: RegExp): error is SQLiteError {
  return error instanceof SQLiteError && codes.test(String(error.code));
}

export function isBusy(error: unknown): boolean {
  return hasCode(error, busy);
}

/** Whether it is the disk's fault or a lock's, and so concerns whatever was to be done together. */
export function isPassing(error: unknown): error is SQLiteError {
  return hasCode(error, passing);
}

/** The error as the storage interface words it. */
function translated(error: unknown): unknown {
  return isPassing(error) ? new StorageUnavailable(`${error.code}: ${error.message}`, error) : error;
}

/**
 * What a commit that failed means. When the disk failed in the middle of it, what it had written of the log may
 * still be found there after a crash, whole.
 */
export function commitFailure(error: unknown): unknown {
  if (!hasCode(error, brokenOff)) return translated(error);
  return new WriteUncertain(`${error.code}: ${error.message}`, error);
}

/** Knows whether a file still has the format it was opened with. */
interface Watched {
  /** Throws `StorageUnavailable` when it has not. */
  verify(): void;
}

/**
 * Runs one statement or transaction, with errors as the storage interface words them. With `format`, a statement
 * that does not fit the file any more, for another process changed the format just now, is no mistake of ours.
 */
export function attempt<T>(work: () => T, format?: Watched): T {
  try {
    return work();
  } catch (error) {
    if (hasCode(error, misfit)) format?.verify();
    throw translated(error);
  }
}
