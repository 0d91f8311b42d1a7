import { Database, SQLiteError } from 'bun:sqlite';
import { closeSync, copyFileSync, existsSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { BackupError, type BackupFacts } from '../../backup.ts';
import { storeApplicationId } from '../database.ts';
import { syncFile } from '../durable.ts';
import { fileReason, makeFile } from '../files.ts';
import { extentBytes } from '../limits/layout.ts';
import { backupApplicationId, countsOf, newestFormat, pragma } from './backup-file.ts';
import { checkStore } from './check.ts';
import { makeSealTable, seal, sealPageOf } from './seal.ts';

/** What is to be copied, and where to. */
export interface MakeTask {
  /** The data file, and the limit file beside it. */
  readonly data: string;
  readonly limits: string;
  /** A file that is not there yet; it has another name until it is whole. */
  readonly target: string;
  /** Unix ms. */
  readonly now: number;
  readonly madeBy: string;
}

/** How long the copy waits for another process's lock before it begins. */
const busyTimeoutMs = 10_000;

/** Where the limit file is copied to first. */
export const limitCopyOf = (target: string) => `${target}.limits`;

/**
 * Copies a store into a new file, while it is served or not, and changes nothing in it. Blocks until all is durable. Throws
 * `BackupError`; what there is of the file then is for the caller to remove.
 */
export function makeBackup({ data, limits, target, now, madeBy }: MakeTask): BackupFacts {
  try {
    makeFile(target);
    // Before the data, so that it has nobody who is not in these: ids that were given later are given again.
    const hasLimits = existsSync(limits);
    if (hasLimits) {
      makeFile(limitCopyOf(target));
      copyFileSync(limits, limitCopyOf(target));
    }
    copyData(data, target);
    const facts = complete(target, { createdAt: now, madeBy, hasLimits });
    rmSync(limitCopyOf(target), { force: true });
    syncFile(target);
    return { ...facts, bytes: statSync(target).size };
  } catch (error) {
    throw failure(data, target, error);
  }
}

/** One statement that reads one snapshot: nobody who writes waits for it. */
function copyData(data: string, target: string): void {
  using source = new Database(data, { readonly: true, strict: true });
  source.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  if (pragma(source, 'application_id') !== storeApplicationId) {
    throw new BackupError('foreign', `${data} is not the data file of a store. Check DATABASE_URL.`);
  }
  // The copy is synced once, at its end.
  source.run('PRAGMA synchronous = OFF');
  source.query('VACUUM INTO ?').run(target);
}

interface How {
  readonly createdAt: number;
  readonly madeBy: string;
  readonly hasLimits: boolean;
}

/** Adds what is not in the data file, and checks the copy. */
function complete(target: string, { createdAt, madeBy, hasLimits }: How): Omit<BackupFacts, 'bytes'> {
  const database = new Database(target, { readwrite: true, strict: true });
  try {
    database.run('PRAGMA journal_mode = MEMORY');
    database.run('PRAGMA synchronous = OFF');
    checkStore(database, 'quick_check');
    const counts = countsOf(database);
    const format = pragma(database, 'user_version');
    const notes = database.transaction(() => {
      database.run('CREATE TABLE backup_limits (extent INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT');
      const limitBytes = hasLimits ? addLimits(database, limitCopyOf(target)) : 0;
      const noted = { createdAt, madeBy, format, limitBytes, counts };
      database.run('CREATE TABLE backup (notes TEXT NOT NULL) STRICT');
      database.query('INSERT INTO backup VALUES (?)').run(JSON.stringify(noted));
      makeSealTable(database);
      database.run(`PRAGMA application_id = ${backupApplicationId}`);
      return noted;
    })();
    const page = sealPageOf(database);
    database.close();
    seal(target, page);
    return { ...notes, newestFormat };
  } finally {
    database.close();
  }
}

/** Adds the limit file piece by piece, however large it is; returns its bytes. */
function addLimits(database: Database, path: string): number {
  const insert = database.query('INSERT INTO backup_limits (bytes) VALUES (?)');
  const piece = Buffer.alloc(extentBytes);
  const file = openSync(path, 'r');
  try {
    for (let at = 0; ; ) {
      const bytes = readSync(file, piece, 0, piece.length, at);
      if (bytes === 0) return at;
      insert.run(piece.subarray(0, bytes));
      at += bytes;
    }
  } finally {
    closeSync(file);
  }
}

function failure(data: string, target: string, error: unknown): BackupError {
  if (error instanceof BackupError) return error;
  const code = error instanceof SQLiteError ? String(error.code) : '';
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) {
    const reason = (error as Error).message;
    return new BackupError('damaged', `The store ${data} is damaged (${reason}). Restore an earlier backup.`);
  }
  return new BackupError('failed', `Cannot make the backup: ${fileReason(error as Error, target)}.`, error);
}
