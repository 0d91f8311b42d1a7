import { Database } from 'bun:sqlite';
import { maxWaitMs, until } from './wait.ts';

/** Opens the data file, and waits for locks that other writers hold. */
export function openDataFile(path: string): Database {
  const database = new Database(path);
  database.run(`PRAGMA busy_timeout = ${maxWaitMs}`);
  return database;
}

/** Acquires the write lock of the data file, as another process would. */
export function lock(path: string): { release: () => void } & Disposable {
  const database = openDataFile(path);
  database.run('BEGIN IMMEDIATE');
  return { release: () => database.run('ROLLBACK'), [Symbol.dispose]: () => database.close() };
}

/**
 * Slows down other writers until disposed of. Repeatedly holds the write lock for a second, which is less than a
 * writer's timeout, and then waits for another process to commit.
 */
export function slowWriters(path: string): AsyncDisposable {
  let isSlow = true;
  const locks = (async () => {
    using reader = new Database(path, { readonly: true });
    const commits = () =>
      (reader.query('PRAGMA data_version').get() as { data_version: number }).data_version;
    while (isSlow) {
      {
        using _held = lock(path);
        await Bun.sleep(1_000);
      }
      const before = commits();
      await until(() => !isSlow || commits() !== before);
    }
  })();
  const stop = () => {
    isSlow = false;
    return locks;
  };
  return { [Symbol.asyncDispose]: stop };
}

/** Prevents other processes from reading the data file until the lock is disposed of. */
export function lockOutReaders(path: string): Disposable {
  const database = openDataFile(path);
  database.run('PRAGMA locking_mode = EXCLUSIVE');
  database.run('BEGIN EXCLUSIVE');
  return { [Symbol.dispose]: () => database.close(true) };
}
