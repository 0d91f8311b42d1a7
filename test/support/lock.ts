import { Database } from 'bun:sqlite';
import { maxWaitMs, until } from './wait.ts';

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

/**
 * Takes that lock again and again, for a second each time: less than a writer waits. In between, others commit at least
 * once. So writers make slow progress until it is disposed of.
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

/** Lets no other process even read, until it is disposed of. */
export function lockOutReaders(path: string): Disposable {
  const database = opened(path);
  database.run('PRAGMA locking_mode = EXCLUSIVE');
  database.run('BEGIN EXCLUSIVE');
  return { [Symbol.dispose]: () => database.close(true) };
}
