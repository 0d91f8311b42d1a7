import { Database, SQLiteError } from 'bun:sqlite';
import { statSync } from 'node:fs';
import { StorageUnusable } from '../storage.ts';
import { fileReason, makeFile, type StoreFiles } from './files.ts';

/**
 * Lets one service at a time serve a store, for it alone writes, and it frees the locks of its processes. The lock is
 * SQLite's own on a file that is never written, so the system lets it go however the process ends. Throws `StorageUnusable`.
 */
function lockForServing(files: StoreFiles): Disposable {
  const lock = tryLock(files, 0);
  if (lock !== undefined) return lock;
  throw new StorageUnusable(
    `Another process is serving the store ${files.data}. Stop it first, or set DATABASE_URL to another file.`,
  );
}

/** The lock of the process that serves: taken when it is first asked for, held until `opened` is disposed of. */
export function lockOnce(files: StoreFiles, opened: DisposableStack): () => Disposable {
  let held: Disposable | undefined;
  opened.defer(() => held?.[Symbol.dispose]());
  return () => {
    held ??= lockForServing(files);
    return { [Symbol.dispose]: () => {} };
  };
}

/** The lock, or undefined when another process holds it for longer than `waitMs`. Throws `StorageUnusable`. */
export function tryLock({ lock: path }: Pick<StoreFiles, 'lock'>, waitMs: number): Disposable | undefined {
  let database: Database | undefined;
  try {
    makeFile(path);
    database = new Database(path, { readwrite: true });
    database.run(`PRAGMA busy_timeout = ${waitMs}`);
    // Without a journal beside it: the lock needs no room on the disk.
    database.run('PRAGMA journal_mode = MEMORY');
    database.run('BEGIN EXCLUSIVE');
  } catch (error) {
    database?.close();
    const code = error instanceof SQLiteError ? String(error.code) : '';
    if (code.startsWith('SQLITE_BUSY')) return undefined;
    throw new StorageUnusable(`Cannot lock the store with ${path}: ${whyNot(path, code, error as Error)}.`);
  }
  const taken = database;
  return { [Symbol.dispose]: () => taken.close() };
}

function whyNot(path: string, code: string, error: Error): string {
  const remedy = 'Move it away; the service creates an empty file with this name';
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true)
    return `it is a directory. ${remedy}`;
  if (code === 'SQLITE_NOTADB') return `the file is not empty. ${remedy}`;
  return fileReason(error, path);
}
