import { Database } from 'bun:sqlite';
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { dataTable } from '../storage/sqlite/database.ts';
import { newestFormat } from '../storage/sqlite/migrations.ts';
import { explainFileError } from '../store-files/files.ts';
import {
  backupApplicationId,
  hasCode,
  hasTable,
  readPragma,
  storeApplicationId,
} from '../store-files/sqlite-file.ts';
import { BackupError, type VerifiedFile } from './backup.ts';
import {
  type BackupMetadata,
  checkStore,
  countRows,
  damageAdvice,
  type FileHeader,
  readHeader,
  readLimitBytes,
} from './backup-file.ts';

/** Reads a whole backup or store without changing it. Blocks the thread. Throws `BackupError`. */
export function verifyFile(path: string): VerifiedFile {
  const header = readHeader(path);
  if (header.applicationId !== backupApplicationId && header.applicationId !== storeApplicationId) {
    throw new BackupError('foreign', `${path} is another program's database, not a backup.`);
  }
  const isBackup = header.applicationId === backupApplicationId;
  try {
    using database = new Database(path, { readonly: true, strict: true });
    // Prevents SQLite from running code in the schema of an untrusted file.
    database.run('PRAGMA trusted_schema = OFF');
    database.run('PRAGMA cell_size_check = ON');
    return isBackup ? verifyBackup(database, path, header) : verifyStore(database, path, header);
  } catch (error) {
    throw toVerifyError(path, isBackup, error);
  }
}

/** Whether a store's data file is undamaged together with the changes in its WAL. Throws `BackupError` if it is unreadable. */
export function isStoreIntact(path: string): boolean {
  try {
    return verifyFile(path).kind === 'store';
  } catch (error) {
    if (error instanceof BackupError && error.fault !== 'failed') return false;
    throw error;
  }
}

function verifyStore(database: Database, path: string, { bytes }: FileHeader): VerifiedFile {
  if (!hasTable(database, dataTable)) {
    throw new BackupError('foreign', `${path} belongs to a store, but is not its data file.`);
  }
  checkStore(database, 'integrity_check', damageAdvice);
  const format = readPragma(database, 'user_version');
  return { kind: 'store', format, newestFormat, counts: countRows(database), bytes };
}

function verifyBackup(
  database: Database,
  path: string,
  { pages, pageBytes, bytes }: FileHeader,
): VerifiedFile {
  if (bytes < pages * pageBytes) {
    const missing = `it has ${bytes} of ${pages * pageBytes} bytes`;
    throw new BackupError('damaged', `The backup ${path} is incomplete: ${missing}. Copy it again.`);
  }
  const [seal] = database.query<{ sha256: string }, []>('SELECT sha256 FROM backup_seal').all();
  if (!isIntact(path, findDigestPage(database), seal?.sha256 ?? '')) {
    throw new BackupError(
      'damaged',
      `The backup ${path} is damaged: its content has changed since it was created (SHA-256 differs). Use another copy.`,
    );
  }
  const [backup] = database.query<{ notes: string }, []>('SELECT notes FROM backup').all();
  const notes = JSON.parse(backup?.notes ?? '') as BackupMetadata;
  checkStore(database, 'integrity_check');
  const counts = countRows(database);
  if (JSON.stringify(counts) !== JSON.stringify(notes.counts)) {
    throw new BackupError(
      'damaged',
      `The row counts of the backup ${path} do not match those recorded in it.`,
    );
  }
  if (readLimitBytes(database) !== notes.limitBytes) {
    throw new BackupError('damaged', `The backup ${path} is missing part of the limit state.`);
  }
  return { kind: 'backup', ...notes, newestFormat, bytes };
}

function toVerifyError(path: string, isBackup: boolean, error: unknown): Error {
  if (error instanceof BackupError) return error;
  const { message } = error as Error;
  if (hasCode(error, /^SQLITE_(CANTOPEN|IOERR|BUSY|PERM|NOMEM|READONLY)/)) {
    return new BackupError(
      'failed',
      `Cannot read ${path}: ${explainFileError(error as Error, path)}.`,
      error,
    );
  }
  // Any other SQLite error means that the file is damaged.
  const [what, remedy] = isBackup ? ['backup', 'Use another copy.'] : ['store', damageAdvice];
  return new BackupError('damaged', `The ${what} ${path} is damaged: ${message}. ${remedy}`, error);
}

/**
 * Placeholder for the SHA-256 of a backup while the digest is computed. The table has a single row, so the digest has a
 * page to itself.
 */
const blankDigest = '0'.repeat(64);
const chunkBytes = 1_048_576;

export function createDigestTable(database: Database): void {
  database.run('CREATE TABLE backup_seal (sha256 TEXT NOT NULL) STRICT');
  database.query('INSERT INTO backup_seal VALUES (?)').run(blankDigest);
}

interface DigestPage {
  readonly at: number;
  readonly bytes: number;
}

/** Returns the page that contains the digest. Throws `BackupError` if there is no digest. */
export function findDigestPage(database: Database): DigestPage {
  const [page] = database
    .query<{ at: number | bigint; bytes: number | bigint }, []>(
      `SELECT pgoffset AS at, pgsize AS bytes FROM dbstat WHERE name = 'backup_seal'`,
    )
    .all();
  if (page === undefined) throw new BackupError('damaged', 'The backup is damaged: it has no digest.');
  return { at: Number(page.at), bytes: Number(page.bytes) };
}

export function writeDigest(path: string, page: DigestPage): void {
  const file = openSync(path, 'r+');
  try {
    const place = digestOffset(file, page, blankDigest);
    writeSync(file, computeDigest(file, place), place, 'latin1');
  } finally {
    closeSync(file);
  }
}

/** Whether the file is unchanged since it was sealed with this digest. */
function isIntact(path: string, page: DigestPage, digest: string): boolean {
  const file = openSync(path, 'r');
  try {
    return computeDigest(file, digestOffset(file, page, digest)) === digest;
  } finally {
    closeSync(file);
  }
}

function digestOffset(file: number, { at, bytes }: DigestPage, digest: string): number {
  const content = Buffer.alloc(bytes);
  readSync(file, content, 0, bytes, at);
  const place = content.indexOf(digest, 'latin1');
  if (place === -1 || digest.length !== blankDigest.length) {
    throw new BackupError('damaged', 'The backup is damaged: its digest cannot be read.');
  }
  return at + place;
}

function computeDigest(file: number, place: number): string {
  const hash = new Bun.CryptoHasher('sha256');
  const chunk = Buffer.alloc(chunkBytes);
  for (let at = 0; ; ) {
    const bytes = readSync(file, chunk, 0, chunkBytes, at);
    if (bytes === 0) return hash.digest('hex');
    const part = chunk.subarray(0, bytes);
    const from = Math.max(place, at);
    const to = Math.min(place + blankDigest.length, at + bytes);
    if (from < to) part.fill(blankDigest.slice(0, to - from), from - at, to - at, 'latin1');
    hash.update(part);
    at += bytes;
  }
}
