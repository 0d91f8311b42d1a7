import { Database, SQLiteError } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { StorageUnavailable, StorageUnusable, WriteUncertain } from '../storage.ts';

/** Ordered steps that bring a file of any older version up to date; the file's `user_version` counts them. */
export type Migrations = readonly string[];

/** Marks a file as this service's, so that another program's database is never migrated ("AnSt"). */
const applicationId = 0x416e5374;

/** Pages of a file kept in memory, filled as they are asked for; a read past them costs a system call more. */
const cacheKib = 8_192;

export interface DatabaseOptions {
  readonly path: string;
  readonly migrations: Migrations;
  /** FULL: a commit survives power loss. NORMAL: it survives the end of the process, and the file stays sound. */
  readonly synchronous: 'FULL' | 'NORMAL';
  /** How long a statement may wait for another process's lock, blocking this one. */
  readonly busyTimeoutMs: number;
}

/** Opens a data file, making it and its folder if needed, and migrates it. Throws `StorageUnusable`. */
export function openDatabase({ path, migrations, synchronous, busyTimeoutMs }: DatabaseOptions): Database {
  let database: Database | undefined;
  try {
    mkdirSync(dirname(path), { recursive: true });
    database = new Database(path, { create: true, readwrite: true, strict: true, safeIntegers: true });
    database.run('PRAGMA busy_timeout = 5000');
    // Setting the journal mode already writes to the file, so its owner is checked before.
    checkOwner(database, path);
    database.run('PRAGMA journal_mode = WAL');
    database.run(`PRAGMA cache_size = -${cacheKib}`);
    database.run(`PRAGMA synchronous = ${synchronous}`);
    migrate(database, path, migrations);
    database.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    return database;
  } catch (error) {
    database?.close();
    if (error instanceof StorageUnusable) throw error;
    throw new StorageUnusable(`Cannot open the data file ${path}: ${(error as Error).message}.`);
  }
}

function migrate(database: Database, path: string, migrations: Migrations): void {
  const version = pragma(database, 'user_version');
  if (version > migrations.length) {
    throw new StorageUnusable(
      `The data file ${path} was written by a newer version of the service (format ${version}, this one knows ` +
        `up to ${migrations.length}). Run that version or a newer one.`,
    );
  }
  if (version === migrations.length) return;
  // IMMEDIATE, and the version is read again inside: processes that start at once migrate one after the other.
  const step = database.transaction(() => {
    const current = pragma(database, 'user_version');
    for (const sql of migrations.slice(current)) database.run(sql);
    database.run(`PRAGMA application_id = ${applicationId}`);
    database.run(`PRAGMA user_version = ${migrations.length}`);
  });
  step.immediate();
}

function checkOwner(database: Database, path: string): void {
  if (isEmpty(database) || pragma(database, 'application_id') === applicationId) return;
  throw new StorageUnusable(
    `The file ${path} is a database of another program. Name another file in DATABASE_URL.`,
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

function hasCode(error: unknown, codes: RegExp): error is SQLiteError {
  return error instanceof SQLiteError && codes.test(String(error.code));
}

export function isBusy(error: unknown): boolean {
  return hasCode(error, busy);
}

/** The error as the storage interface words it. */
function translated(error: unknown): unknown {
  return hasCode(error, passing) ? new StorageUnavailable(`${error.code}: ${error.message}`, error) : error;
}

/**
 * What a commit that failed means. When the disk failed in the middle of it, what it had written of the log may
 * still be found there after a crash, whole.
 */
export function commitFailure(error: unknown): unknown {
  if (!hasCode(error, brokenOff)) return translated(error);
  return new WriteUncertain(`${error.code}: ${error.message}`, error);
}

/** Runs one statement or transaction, with errors as the storage interface words them. */
export function attempt<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw translated(error);
  }
}
