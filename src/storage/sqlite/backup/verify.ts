import { Database } from 'bun:sqlite';
import { BackupError, type Verified } from '../../backup.ts';
import { dataTable } from '../database.ts';
import { backupApplicationId, hasCode, hasTable, pragma, storeApplicationId } from '../sqlite-file.ts';
import {
  checkStore,
  countsOf,
  type FileHeader,
  headerOf,
  limitTable,
  type Notes,
  newestFormat,
} from './backup-file.ts';
import { isIntact, sealPageOf } from './seal.ts';

/** Reads a whole backup or store without changing it. Blocks the thread. Throws `BackupError`. */
export function verifyFile(path: string): Verified {
  const header = headerOf(path);
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
    throw verifyFailure(path, isBackup, error);
  }
}

function verifyStore(database: Database, path: string, { bytes }: FileHeader): Verified {
  if (!hasTable(database, dataTable)) {
    throw new BackupError('foreign', `${path} belongs to a store, but is not its data file.`);
  }
  checkStore(database, 'integrity_check');
  const format = pragma(database, 'user_version');
  return { kind: 'store', format, newestFormat, counts: countsOf(database), bytes };
}

function verifyBackup(database: Database, path: string, { pages, pageBytes, bytes }: FileHeader): Verified {
  if (bytes < pages * pageBytes) {
    const missing = `it has ${bytes} of ${pages * pageBytes} bytes`;
    throw new BackupError('damaged', `The backup ${path} is incomplete: ${missing}. Copy it again.`);
  }
  const [seal] = database.query<{ sha256: string }, []>('SELECT sha256 FROM backup_seal').all();
  if (!isIntact(path, sealPageOf(database), seal?.sha256 ?? '')) {
    throw new BackupError(
      'damaged',
      `The backup ${path} is damaged: its content has changed since it was created (SHA-256 differs). Use another copy.`,
    );
  }
  const [backup] = database.query<{ notes: string }, []>('SELECT notes FROM backup').all();
  const notes = JSON.parse(backup?.notes ?? '') as Notes;
  checkStore(database, 'integrity_check');
  const counts = countsOf(database);
  if (JSON.stringify(counts) !== JSON.stringify(notes.counts)) {
    throw new BackupError(
      'damaged',
      `The row counts of the backup ${path} do not match those recorded in it.`,
    );
  }
  const [limits] = database
    .query<{ bytes: number | null }, []>(`SELECT sum(length(bytes)) AS bytes FROM ${limitTable}`)
    .all();
  if ((limits?.bytes ?? 0) !== notes.limitBytes) {
    throw new BackupError('damaged', `The backup ${path} is missing part of the limit state.`);
  }
  return { kind: 'backup', ...notes, newestFormat, bytes };
}

function verifyFailure(path: string, isBackup: boolean, error: unknown): Error {
  if (error instanceof BackupError) return error;
  const { message } = error as Error;
  if (hasCode(error, /^SQLITE_(CANTOPEN|IOERR|BUSY|PERM|NOMEM|READONLY)/)) {
    return new BackupError('failed', `Cannot read ${path}: ${message}.`, error);
  }
  // Any other SQLite error means that the file is damaged.
  const [what, remedy] = isBackup ? ['backup', 'Use another copy'] : ['store', 'Restore a backup'];
  return new BackupError('damaged', `The ${what} ${path} is damaged: ${message}. ${remedy}.`, error);
}
