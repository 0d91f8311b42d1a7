import { Database } from 'bun:sqlite';
import { maxWaitMs } from './wait.ts';

/** Opens the store, and waits for other writers where SQLite would fail. */
function opened(path: string): Database {
  const database = new Database(path);
  database.run(`PRAGMA busy_timeout = ${maxWaitMs}`);
  return database;
}

/** Takes the lock that writers need, as another process would. */
export function lock(path: string): { release: () => void } & Disposable {
  const database = opened(path);
  database.run('BEGIN IMMEDIATE');
  return { release: () => database.run('ROLLBACK'), [Symbol.dispose]: () => database.close() };
}

/** Lets no other process even read, until it is disposed of. */
export function lockOutReaders(path: string): Disposable {
  const database = opened(path);
  database.run('PRAGMA locking_mode = EXCLUSIVE');
  database.run('BEGIN EXCLUSIVE');
  return { [Symbol.dispose]: () => database.close(true) };
}
