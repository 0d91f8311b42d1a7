import { Database } from 'bun:sqlite';
import { closeSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { syncFile, syncFolderOf } from '../durable.ts';
import { makeFile, type StoreFiles } from '../files.ts';
import { removeFormer } from '../limits/former-limits.ts';
import { limitTable } from './backup-file.ts';

/** How long it waits for a command that has just opened the store. */
const busyTimeoutMs = 5_000;

/** Whether a data file is of a store that was restored, and whose limit state has no file of its own yet. */
export function isUnfinished(data: Database): boolean {
  return data.query('SELECT 1 FROM sqlite_schema WHERE name = ?').all(limitTable).length > 0;
}

/**
 * Writes the limit state of a store that was restored to its own file, in the place of the one that belonged to the store
 * before. Whoever is killed here leaves the table, so that it is done again. Only who has the serving lock may do it. Throws
 * as the system does.
 */
export function finishRestore(files: StoreFiles): void {
  using data = new Database(files.data, { readwrite: true, strict: true });
  data.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  if (!isUnfinished(data)) return;
  const made = `${files.limits}.new`;
  rmSync(made, { force: true });
  const hasLimits = writePieces(data, made);
  if (hasLimits) renameSync(made, files.limits);
  else for (const path of [made, files.limits]) rmSync(path, { force: true });
  removeFormer(files);
  syncFolderOf(files.limits);
  data.run('PRAGMA synchronous = FULL');
  data.run(`DROP TABLE ${limitTable}`);
}

/** Returns whether there was anything to write. */
function writePieces(data: Database, path: string): boolean {
  makeFile(path);
  const file = openSync(path, 'r+');
  let at = 0;
  try {
    const pieces = data.query<{ bytes: Uint8Array }, []>(`SELECT bytes FROM ${limitTable} ORDER BY extent`);
    for (const { bytes } of pieces.iterate()) {
      for (let done = 0; done < bytes.length; ) {
        const written = writeSync(file, bytes, done, bytes.length - done, at);
        done += written;
        at += written;
      }
    }
  } finally {
    closeSync(file);
  }
  if (at > 0) syncFile(path);
  return at > 0;
}
