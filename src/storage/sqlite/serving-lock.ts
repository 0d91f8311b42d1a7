import { Database } from 'bun:sqlite';
import { StorageUnusable } from '../storage.ts';

/**
 * Lets one process at a time serve a store, for that process holds the counts in memory. The lock is SQLite's own
 * on a file that is never written, so the system lets it go however the process ends.
 */
export function lockForServing(path: string): Disposable {
  const lock = new Database(`${path}.serving`, { create: true, readwrite: true });
  try {
    lock.run('PRAGMA busy_timeout = 0');
    lock.run('BEGIN EXCLUSIVE');
  } catch {
    lock.close();
    throw new StorageUnusable(
      `Another process is serving the store ${path} already. Stop it first, or name another file in DATABASE_URL.`,
    );
  }
  return { [Symbol.dispose]: () => lock.close() };
}
