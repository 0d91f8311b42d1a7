import { Database } from 'bun:sqlite';
import { closeSync, openSync, renameSync, rmSync } from 'node:fs';
import { clearStoreRecord } from '../limits/file/served-files.ts';
import { syncFile, syncParentFolder, writeAll } from '../store-files/disk.ts';
import { createFileIfMissing, type StoreFiles } from '../store-files/files.ts';
import { hasTable } from '../store-files/sqlite-file.ts';
import { limitTable } from './backup-file.ts';

const busyTimeoutMs = 5_000;

/** The unfinished copy of a backup. */
export function copyPath({ data }: StoreFiles): string {
  return `${data}.restoring`;
}

/** Removes the partial copy left by a killed restore. Requires the serving lock, which a restore holds while it copies. */
export function removeCopy(files: StoreFiles): void {
  rmSync(copyPath(files), { force: true });
}

/** Whether the store was restored and its limit state is still in the data file. */
export function isRestoreUnfinished(data: Database): boolean {
  return hasTable(data, limitTable);
}

/**
 * Moves the limit state of a restored store from the data file to a separate file, replacing any existing file. If the
 * process is killed, the table remains, and the move is repeated the next time the service starts. Requires the serving
 * lock. Throws system errors.
 */
export function finishRestore(files: StoreFiles): void {
  using data = new Database(files.data, { readwrite: true, strict: true });
  data.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  if (!isRestoreUnfinished(data)) return;
  const made = `${files.limits}.new`;
  rmSync(made, { force: true });
  createFileIfMissing(made, files.data);
  const hasLimits = writePieces(data, made);
  if (hasLimits) {
    // The record is about another data file, and may have been made after later changes than those in the backup.
    clearStoreRecord(made);
    renameSync(made, files.limits);
  } else for (const path of [made, files.limits]) rmSync(path, { force: true });
  syncParentFolder(files.limits);
  data.run('PRAGMA synchronous = FULL');
  data.run(`DROP TABLE ${limitTable}`);
}

function writePieces(data: Database, path: string): boolean {
  const file = openSync(path, 'r+');
  let at = 0;
  try {
    const pieces = data.query<{ bytes: Uint8Array }, []>(`SELECT bytes FROM ${limitTable} ORDER BY extent`);
    for (const { bytes } of pieces.iterate()) {
      writeAll(file, bytes, at);
      at += bytes.length;
    }
  } finally {
    closeSync(file);
  }
  if (at > 0) syncFile(path);
  return at > 0;
}
