import { Database, type SQLiteError, type SQLQueryBindings } from 'bun:sqlite';
import { dirname } from 'node:path';
import { damageMessage } from '../../domain/troubles.ts';
import {
  DataDamagedError,
  StorageUnavailable,
  StoreUnusableError,
  WriteUncertainError,
} from '../../outages/errors.ts';
import type { Notify } from '../../outages/outage.ts';
import { explainFileError, missingStoreError, unlessLost } from '../../store-files/files.ts';
import {
  backupApplicationId,
  copyApplicationId,
  hasCode,
  hasTable,
  readPragma,
  storeApplicationId,
} from '../../store-files/sqlite-file.ts';
import {
  expectKnownFormat,
  newestFormatOf,
  outdatedStoreError,
  unfinishedCopyError,
} from '../store-errors.ts';

interface Migration {
  /** The resulting format of the file, which is its `user_version`. */
  readonly format: number;
  readonly change: (database: Database) => void;
}

/** Ordered steps that upgrade a file from any released version. */
export type Migrations = readonly Migration[];

/** A table that identifies data files. Earlier versions stored limits in a second database, which lacks this table. */
export const dataTable = 'pets';

/** Page cache size of a connection that reads. Reading an uncached page costs a system call. */
const readingCacheKib = 8_192;
/**
 * Page cache size of a connection that only writes. Most writes go to the last page of a table, or to the last page of
 * a category or status in an index.
 */
export const writingCacheKib = 4_096;

interface DatabaseOptions {
  readonly path: string;
  readonly migrations: Migrations;
  /** Whether to turn an empty file into a store instead of rejecting the file. */
  readonly create: boolean;
  /** Whether to upgrade a file of an older version instead of rejecting it. */
  readonly migrates: boolean;
  /** Whether the file may be the target of an unfinished copy. */
  readonly allowsUnfinished?: boolean;
  readonly cacheKib?: number;
  /** Time to wait for another process's lock. The wait blocks the thread. */
  readonly busyTimeoutMs: number;
  /** Acquires the lock for a migration; undefined if another process holds the lock. May throw `StoreUnusableError`. */
  readonly lock: () => Disposable | undefined;
  readonly notice?: Notify;
}

/** Opens a data file, and migrates it if that is allowed. If this throws `StoreUnusableError`, nothing was changed. */
export function openDatabase(options: DatabaseOptions): Database {
  const { path, migrations, migrates, cacheKib = readingCacheKib, busyTimeoutMs, lock, notice } = options;
  let database: Database | undefined;
  try {
    database = new PreparedDatabase(path, { readwrite: true, strict: true, safeIntegers: true });
    database.run('PRAGMA busy_timeout = 5000');
    // Checked before setting the journal mode, which writes to the file.
    const isNew = check(database, options);
    using held = isOutdated(database, migrations) ? lock() : undefined;
    if (isOutdated(database, migrations)) {
      if (held === undefined) throw storeInUseError(database, path, migrations);
      const format = readPragma(database, 'user_version');
      if (!isNew && !migrates)
        throw outdatedStoreError(`The store ${path}`, format, newestFormatOf(migrations));
    }
    database.run('PRAGMA journal_mode = WAL');
    database.run(`PRAGMA cache_size = -${cacheKib}`);
    // Commits must survive a power failure.
    database.run('PRAGMA synchronous = FULL');
    const former = migrate(database, migrations);
    if (former > 0) notice?.(`migrated ${path} from format ${former} to ${newestFormatOf(migrations)}`);
    // Enabled after the migration, which may rebuild a table that other tables reference.
    database.run('PRAGMA foreign_keys = ON');
    database.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    return database;
  } catch (error) {
    database?.close();
    if (error instanceof StoreUnusableError) throw error;
    throw (
      toDamageError(error, path) ??
      new StoreUnusableError(`Cannot open the data file ${path}: ${explainFileError(error as Error, path)}.`)
    );
  }
}

/** Returns the previous format of the file; 0 if the file was empty or up to date. */
function migrate(database: Database, migrations: Migrations): number {
  const newest = newestFormatOf(migrations);
  if (readPragma(database, 'user_version') === newest) return 0;
  // A new index is sorted in temporary files, and a container may not be able to write to any other folder.
  const folder = dirname(database.filename).replaceAll("'", "''");
  database.run(`PRAGMA temp_store_directory = '${folder}'`);
  // Uses an IMMEDIATE transaction and reads the version again, in case another process has migrated the file in the
  // meantime.
  const all = database.transaction(() => {
    const current = readPragma(database, 'user_version');
    for (const { format, change } of migrations) if (format > current) change(database);
    database.run(`PRAGMA application_id = ${storeApplicationId}`);
    database.run(`PRAGMA user_version = ${newest}`);
    return current === newest ? 0 : current;
  });
  const former = all.immediate();
  // Shrinks the WAL, which would otherwise keep its size until all processes have closed the file.
  database.run('PRAGMA wal_checkpoint(TRUNCATE)');
  return former;
}

/** Returns whether the file is empty and may become a data file. Throws `StoreUnusableError` for files of other kinds. */
function check(
  database: Database,
  { path, migrations, create, allowsUnfinished = false }: DatabaseOptions,
): boolean {
  const isEmpty = database.query('SELECT 1 FROM sqlite_schema LIMIT 1').all().length === 0;
  if (isEmpty) {
    if (create) return true;
    throw missingStoreError(path);
  }
  checkOwner(database, path, allowsUnfinished);
  if (!hasTable(database, dataTable)) {
    throw new StoreUnusableError(
      `The file ${path} belongs to a store, but is not its data file (it has no table "${dataTable}"). Set ` +
        'DATABASE_URL to the data file.',
    );
  }
  expectKnownFormat(`The data file ${path}`, readPragma(database, 'user_version'), migrations);
  return false;
}

function isOutdated(database: Database, migrations: Migrations): boolean {
  return readPragma(database, 'user_version') < newestFormatOf(migrations);
}

function storeInUseError(database: Database, path: string, migrations: Migrations): StoreUnusableError {
  return new StoreUnusableError(
    `${path} is in use by a service with format ${readPragma(database, 'user_version')}; this version is newer and needs ` +
      `format ${newestFormatOf(migrations)}. Upgrade or stop the service first, or run this command with the version of the ` +
      'service. Nothing was changed.',
  );
}

function checkOwner(database: Database, path: string, allowsUnfinished: boolean): void {
  const id = readPragma(database, 'application_id');
  if (id === storeApplicationId || (id === copyApplicationId && allowsUnfinished)) return;
  if (id === copyApplicationId) throw unfinishedCopyError(path, 'delete the file');
  if (id === backupApplicationId) {
    throw new StoreUnusableError(
      `${path} is a backup. To serve its data, restore the backup: animal-store restore ${path} --to PATH`,
    );
  }
  throw new StoreUnusableError(
    `The file ${path} is another program's database. Set DATABASE_URL to another file.`,
  );
}

/** `SQLITE_FCNTL_NULL_IO` (https://www.sqlite.org/c3ref/c_fcntl_begin_atomic_write.html). The runtime does not export it. */
const nullIo = 43;

/**
 * Closes a connection without changing the files. The last connection that is closed normally copies the frames of the WAL
 * to the data file without verifying their checksums. Releases the locks of all connections of the process.
 */
export function closeUnchanged(database: Database): void {
  database.fileControl(nullIo, 0);
  database.close();
}

/** Error codes of temporary disk or lock failures. */
const temporaryCodes = /^SQLITE_(FULL|READONLY|IOERR|BUSY|CANTOPEN|LOCKED|PROTOCOL|NOMEM|PERM)/;
const busyCodes = /^SQLITE_BUSY/;
const damageCodes = /^SQLITE_(CORRUPT|NOTADB)/;
const ioErrorCodes = /^SQLITE_IOERR/;
const schemaErrorCodes = /^SQLITE_(ERROR|SCHEMA|CONSTRAINT|MISMATCH)/;

export function isBusy(error: unknown): boolean {
  return hasCode(error, busyCodes);
}

/** Whether the error is a temporary disk or lock failure, which affects the whole group of units. */
export function isTemporary(error: unknown): error is SQLiteError {
  return hasCode(error, temporaryCodes);
}

export function isDamage(error: unknown): error is SQLiteError {
  return hasCode(error, damageCodes);
}

/** The error of a service or command that cannot start because the data file is damaged; undefined for other errors. */
export function toDamageError(error: unknown, path: string): StoreUnusableError | undefined {
  if (!isDamage(error)) return undefined;
  if (error.code === 'SQLITE_NOTADB') {
    return new StoreUnusableError(
      `Cannot open the data file ${path}: ${error.message}. Set DATABASE_URL to the data file. If its beginning was ` +
        `damaged or overwritten, see "The data file is damaged" in docs/troubleshooting.md. ${unlessLost}`,
    );
  }
  return new StoreUnusableError(
    `Cannot open the store: ${damageMessage(path, error.message)}. ${unlessLost}`,
    {
      cause: error,
    },
  );
}

/** Converts disk and lock failures, and damage, into errors for clients and operators. */
export function toStorageError(error: unknown, path: string): unknown {
  if (isDamage(error))
    return new DataDamagedError(damageMessage(path, `${error.code}: ${error.message}`), error);
  return isTemporary(error) ? new StorageUnavailable(`${error.code}: ${error.message}`, error) : error;
}

/** After an I/O error during a commit, the WAL may contain the whole transaction, and recovery would apply it. */
export function toCommitError(error: unknown, path: string): unknown {
  if (!hasCode(error, ioErrorCodes)) return toStorageError(error, path);
  return new WriteUncertainError(`${error.code}: ${error.message}`, error);
}

interface Watched {
  /** Throws `StorageUnavailable` if the format of the file has changed. */
  verify(): void;
}

/**
 * Converts SQLite's errors. `path` is the data file. With `format`, a statement that fails because the file was migrated throws an error that
 * reports the migration.
 */
export function convertErrors<T>(path: string, work: () => T, format?: Watched): T {
  try {
    return work();
  } catch (error) {
    if (hasCode(error, schemaErrorCodes)) format?.verify();
    throw toStorageError(error, path);
  }
}

/** A parameter that SQLite may compare with a literal or take as a limit. */
const typeSensitiveParameter = /(?<=[=<>]\s*|\b(?:LIMIT|OFFSET)\s+)\?/g;

/**
 * Prepares each statement only once. SQLite prepares a statement again whenever a value is bound on which the best plan
 * may depend (https://www.sqlite.org/c3ref/prepare.html), such as a limit or a condition of a partial index. Preparing
 * can take longer than running the statement. A unary plus hides the value from the planner. The runtime's own cache
 * only has room for 20 statements. Use this class for a limited number of different texts.
 */
class PreparedDatabase extends Database {
  readonly #prepared = new Map<string, ReturnType<Database['query']>>();

  override query<Row, Values extends SQLQueryBindings | SQLQueryBindings[]>(text: string) {
    const statement = this.#prepared.get(text) ?? super.query(text.replace(typeSensitiveParameter, '+?'));
    this.#prepared.set(text, statement);
    return statement as ReturnType<typeof Database.prototype.query<Row, Values>>;
  }
}
