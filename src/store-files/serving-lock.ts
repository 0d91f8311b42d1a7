import { Database } from 'bun:sqlite';
import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { StoreUnusableError } from '../outages/errors.ts';
import {
  createFileIfMissing,
  explainFileError,
  type StoreFiles,
  saveBeforeStopping,
  stopUnlessLost,
  storeFilePaths,
} from './files.ts';
import { hasCode } from './sqlite-file.ts';

/** Time to wait for a command that briefly holds the lock. The wait blocks the thread. */
export const commandLockMs = 500;

/**
 * Locks the store for serving, with an SQLite lock on an empty file. The operating system releases the lock when the
 * process ends, even if it is killed. Throws `StoreUnusableError`.
 */
function lockForServing(files: StoreFiles): Disposable {
  const lock = tryLock(files, commandLockMs);
  if (lock !== undefined) return lock;
  throw new StoreUnusableError(
    `Another process is serving the store ${files.data}. ${stopUnlessLost} To serve another store, set DATABASE_URL.`,
  );
}

/** Throws `StoreUnusableError` if the data file at the path is missing, but a service is using it. */
export function expectNoDeletedFile(path: string): void {
  const files = storeFilePaths(resolve(path));
  if (existsSync(files.data) || !existsSync(files.lock)) return;
  using lock = tryLock(files, commandLockMs);
  if (lock !== undefined) return;
  throw new StoreUnusableError(
    `The data file ${files.data} is missing, but a service is using the store. ${saveBeforeStopping}`,
  );
}

/**
 * Returns a function that acquires the serving lock on its first call. The lock is held until `opened` is disposed of.
 */
export function createServingLock(files: StoreFiles, opened: DisposableStack): () => Disposable {
  let held: Disposable | undefined;
  opened.defer(() => held?.[Symbol.dispose]());
  return () => {
    held ??= lockForServing(files);
    return { [Symbol.dispose]: () => {} };
  };
}

/** Acquires the lock; undefined if another process still holds it after `waitMs`. Throws `StoreUnusableError`. */
export function tryLock(
  { lock: path, data }: Pick<StoreFiles, 'lock'> & Partial<StoreFiles>,
  waitMs: number,
): Disposable | undefined {
  let database: Database | undefined;
  try {
    createFileIfMissing(path, data);
    database = new Database(path, { readwrite: true });
    database.run(`PRAGMA busy_timeout = ${waitMs}`);
    // Uses no journal file, so that the lock needs no disk space.
    database.run('PRAGMA journal_mode = MEMORY');
    database.run('BEGIN EXCLUSIVE');
  } catch (error) {
    database?.close();
    if (hasCode(error, /^SQLITE_BUSY/)) return undefined;
    throw new StoreUnusableError(
      `Cannot lock the store with ${path}: ${describeLockFailure(path, error as Error)}.`,
    );
  }
  const taken = database;
  return { [Symbol.dispose]: () => taken.close() };
}

function describeLockFailure(path: string, error: Error): string {
  const remedy = 'Move it away; the service creates an empty file with this name';
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true)
    return `it is a directory. ${remedy}`;
  if (hasCode(error, /^SQLITE_NOTADB$/)) return `the file is not empty. ${remedy}`;
  return explainFileError(error, path);
}
