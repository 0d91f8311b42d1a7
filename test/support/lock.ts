import { Database } from 'bun:sqlite';
import { maxWaitMs, until } from './wait.ts';

/** Opens the store, with a timeout for the locks of other writers. */
function opened(path: string): Database {
  const database = new Database(path);
  database.run(`PRAGMA busy_timeout = ${maxWaitMs}`);
  return database;
}

/** Acquires the lock for writers, like another process. */
export function lock(path: string): { release: () => void } & Disposable {
  const database = opened(path);
  database.run('BEGIN IMMEDIATE');
  return { release: () => database.run('ROLLBACK'), [Symbol.dispose]: () => database.close() };
}

/**
 * Repeatedly acquires that lock for a second, which is less than a writer's timeout. Between two locks, others commit
 * at least once. So writers make slow progress until this is disposed of.
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

/** Prevents other processes from reading until it is disposed of. */
export function lockOutReaders(path: string): Disposable {
  const database = opened(path);
  database.run('PRAGMA locking_mode = EXCLUSIVE');
  database.run('BEGIN EXCLUSIVE');
  return { [Symbol.dispose]: () => database.close(true) };
}
