import { Database } from 'bun:sqlite';
import { closeSync, copyFileSync, existsSync, openSync, readSync, rmSync } from 'node:fs';
import { damageMessage } from '../domain/troubles.ts';
import { extentBytes } from '../limits/file/layout.ts';
import { newestFormat } from '../storage/sqlite/migrations.ts';
import { fileSize, syncFile } from '../store-files/disk.ts';
import { createFileIfMissing, explainFileError, unlessLost } from '../store-files/files.ts';
import {
  backupApplicationId,
  hasCode,
  hasTable,
  readPragma,
  storeApplicationId,
} from '../store-files/sqlite-file.ts';
import { BackupError, type BackupFacts } from './backup.ts';
import { checkStore, countRows, damageAdvice, limitTable, readLimitBytes } from './backup-file.ts';
import { createDigestTable, findDigestPage, writeDigest } from './verify.ts';

export interface BackupOptions {
  readonly data: string;
  readonly limits: string;
  /** The path at which the unfinished backup is created. */
  readonly target: string;
  readonly now: number;
  readonly madeBy: string;
}

/** Time to wait for another process's lock before the copy begins. */
const busyTimeoutMs = 10_000;

const limitCopyPath = (target: string) => `${target}.limits`;

/**
 * Copies a store, which may be served at the same time. Blocks the thread. Throws `BackupError`; the caller removes the
 * unfinished file.
 */
export function createBackup({ data, limits, target, now, madeBy }: BackupOptions): BackupFacts {
  try {
    createFileIfMissing(target);
    // Copies the limit state first, because it must not contain ids that are missing from the copied data. A restored
    // store would assign these ids again.
    const hasLimits = existsSync(limits);
    if (hasLimits) {
      createFileIfMissing(limitCopyPath(target));
      copyFileSync(limits, limitCopyPath(target));
    }
    copyData(data, target);
    const facts = completeBackup(target, { createdAt: now, madeBy, hasLimits });
    rmSync(limitCopyPath(target), { force: true });
    syncFile(target);
    return { ...facts, bytes: fileSize(target) };
  } catch (error) {
    throw toBackupError({ data, limits, target }, error);
  }
}

/** Copies in a single statement, which reads one snapshot and does not block writers. */
function copyData(data: string, target: string): void {
  using source = new Database(data, { readonly: true, strict: true });
  source.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  if (readPragma(source, 'application_id') !== storeApplicationId) {
    throw new BackupError('foreign', `${data} is not the data file of a store. Check DATABASE_URL.`);
  }
  // The copy is synced once, when it is complete.
  source.run('PRAGMA synchronous = OFF');
  source.query('VACUUM INTO ?').run(target);
}

interface MakeMode {
  readonly createdAt: number;
  readonly madeBy: string;
  readonly hasLimits: boolean;
}

/** Checks the copy, and adds the limit state, the notes and the digest. */
function completeBackup(
  target: string,
  { createdAt, madeBy, hasLimits }: MakeMode,
): Omit<BackupFacts, 'bytes'> {
  const database = new Database(target, { readwrite: true, strict: true });
  try {
    database.run('PRAGMA journal_mode = MEMORY');
    database.run('PRAGMA synchronous = OFF');
    checkStore(database, 'quick_check', damageAdvice);
    const counts = countRows(database);
    const format = readPragma(database, 'user_version');
    const notes = database.transaction(() => {
      // A store whose restore was interrupted contains its limit state. The limit file on disk still belongs to the
      // replaced store.
      const isRestored = hasTable(database, limitTable);
      if (!isRestored)
        database.run(`CREATE TABLE ${limitTable} (extent INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT`);
      if (!isRestored && hasLimits) addLimits(database, limitCopyPath(target));
      const limitBytes = readLimitBytes(database);
      const noted = { createdAt, madeBy, format, limitBytes, counts };
      database.run('CREATE TABLE backup (notes TEXT NOT NULL) STRICT');
      database.query('INSERT INTO backup VALUES (?)').run(JSON.stringify(noted));
      createDigestTable(database);
      database.run(`PRAGMA application_id = ${backupApplicationId}`);
      return noted;
    })();
    const page = findDigestPage(database);
    database.close();
    writeDigest(target, page);
    return { ...notes, newestFormat };
  } finally {
    database.close();
  }
}

function addLimits(database: Database, path: string): void {
  const insert = database.query(`INSERT INTO ${limitTable} (bytes) VALUES (?)`);
  const piece = Buffer.alloc(extentBytes);
  const file = openSync(path, 'r');
  try {
    for (let at = 0; ; ) {
      const bytes = readSync(file, piece, 0, piece.length, at);
      if (bytes === 0) return;
      insert.run(piece.subarray(0, bytes));
      at += bytes;
    }
  } finally {
    closeSync(file);
  }
}

function toBackupError(
  { data, limits, target }: Pick<BackupOptions, 'data' | 'limits' | 'target'>,
  error: unknown,
): BackupError {
  if (error instanceof BackupError) return error;
  if (hasCode(error, /^SQLITE_(CORRUPT|NOTADB)/)) {
    return new BackupError(
      'damaged',
      `Could not create the backup: ${damageMessage(data, error.message)}. ${unlessLost}`,
    );
  }
  const reason = explainFileError(error as Error, target, data, limits);
  return new BackupError('failed', `Could not create the backup: ${reason}.`, error);
}
