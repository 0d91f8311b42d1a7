import { Database } from 'bun:sqlite';
import { existsSync, renameSync, rmSync } from 'node:fs';
import { StorageUnusable } from '../storage.ts';
import { makeFile, type StoreFiles } from './files.ts';

/**
 * The file of limit state to open. Version 1.0.0 named it otherwise where the data file is not `….db` or was reached
 * by a link: then that one is taken over, counts and bans and all, or used as it is while that version still serves.
 */
export function limitsOf(files: StoreFiles, lock: () => Disposable | undefined): string {
  const { limits } = files;
  const former = files.formerLimits.find((path) => existsSync(path));
  if (existsSync(limits) || former === undefined) return limits;
  using held = lock();
  if (held === undefined) return former;
  try {
    takeOver(former, limits);
  } catch (error) {
    const reason = (error as Error).message;
    throw new StorageUnusable(`Cannot migrate the limit state from ${former} to ${limits}: ${reason}.`);
  }
  return limits;
}

function takeOver(former: string, limits: string): void {
  const copy = `${limits}.new`;
  rmSync(copy, { force: true });
  makeFile(copy);
  {
    using database = new Database(former, { readwrite: true });
    database.query('VACUUM INTO ?').run(copy);
  }
  renameSync(copy, limits);
  // Where two stores shared it, it is the other one's by name.
  if (existsSync(former.replace(/\.limits\.db$/, '.db'))) return;
  for (const suffix of ['', '-wal', '-shm']) rmSync(former + suffix, { force: true });
}
