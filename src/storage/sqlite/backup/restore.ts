/**
 * Puts a backup in the place of a store. The new data file is made beside the old one, whole and with the limit state in it,
 * and one rename takes it into use: whenever the process is killed, there is the old store or the new one. The limit state
 * gets its own file after that (`restored-limits.ts`), at the next start if need be.
 */
import { Database, SQLiteError } from 'bun:sqlite';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { BackupError, type BackupFacts, type Verified } from '../../backup.ts';
import { storeApplicationId } from '../database.ts';
import { syncFile, syncFolderOf } from '../durable.ts';
import { fileReason, makeFile, type StoreFiles, storeFileNames } from '../files.ts';
import { tryLock } from '../serving-lock.ts';
import { backupApplicationId, headerOf, noteTables } from './backup-file.ts';
import { freeBytesOf, mib } from './maker.ts';
import { finishRestore } from './restored-limits.ts';

export interface RestoreOptions {
  readonly backup: string;
  /** The path of the data file, as DATABASE_URL has it. */
  readonly path: string;
  /** Whether a store that is there is replaced. */
  readonly replace: boolean;
  /** Verifies the copy, once all of it is there. */
  readonly verify: (copy: string) => Promise<Verified>;
  readonly signal?: AbortSignal;
  /** Bytes copied, and bytes in all. */
  readonly onProgress?: (done: number, total: number) => void;
}

export interface Restored extends BackupFacts {
  /** The data file. */
  readonly path: string;
  readonly replaced: boolean;
}

/** How long a store that is to be replaced may be in use by a command. */
const busyTimeoutMs = 2_000;
const chunkBytes = 1_048_576;
/** Room for the limit state's own file, besides the copy. */
const extraBytes = 4_194_304;

/** Throws `BackupError` or `StorageUnusable`; the store is then as it was. */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const { backup, path, replace } = options;
  const header = headerOf(backup);
  if (header.applicationId !== backupApplicationId) {
    throw new BackupError('foreign', `${backup} is not a backup that "animal-store backup" made.`);
  }
  const files = storeFileNames(path);
  const replaced = existsSync(files.data);
  if (replaced) checkReplaced(files.data, replace);
  using _place = placeFor(files);
  checkSpace(files.data, header.bytes);
  using lock = tryLock(files, 0);
  if (lock === undefined) {
    throw new BackupError('exists', `A service is using the store ${files.data}. Stop it first.`);
  }
  const copy = `${files.data}.restoring`;
  try {
    await copyFile(backup, copy, options, header.bytes);
    // The copy is what will be served, so it is what is verified.
    const facts = await verified(copy, options);
    makeStoreOf(copy);
    takeIntoUse(copy, files);
    return { ...facts, path: files.data, replaced };
  } catch (error) {
    throw error instanceof Error && 'code' in error ? failure(files.data, error) : error;
  } finally {
    rmSync(copy, { force: true });
  }
}

/** Throws `BackupError` unless the file is a store's, which may be damaged, and is to be replaced. */
function checkReplaced(path: string, replace: boolean): void {
  if (statSync(path).isDirectory()) {
    throw new BackupError('exists', `${path} is a folder. Name the data file to restore to.`);
  }
  if (!replace) {
    throw new BackupError(
      'exists',
      `There is a store at ${path}. Use --replace to replace all of it, or restore to another path with --to.`,
    );
  }
  if (!isStore(path)) {
    throw new BackupError('exists', `${path} is not a store, so it is not replaced. Move it away first.`);
  }
}

/** Makes the folder of a store. What was made for a store that did not come to be goes again: the folder, and the lock's file. */
function placeFor({ data, lock }: StoreFiles): Disposable {
  const hadLock = existsSync(lock);
  const folder = dirname(data);
  let made: string | undefined;
  try {
    made = mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw failure(data, error as Error);
  }
  return {
    [Symbol.dispose]: () => {
      if (existsSync(data)) return;
      if (!hadLock) rmSync(lock, { force: true });
      for (let path = folder; made !== undefined && path.startsWith(made); path = dirname(path)) {
        if (readdirSync(path).length > 0) return;
        rmdirSync(path);
      }
    },
  };
}

function isStore(path: string): boolean {
  try {
    return headerOf(path).applicationId === storeApplicationId;
  } catch {
    return statSync(path).size === 0;
  }
}

function checkSpace(path: string, bytes: number): void {
  const free = freeBytesOf(path);
  const needed = bytes + extraBytes;
  if (free >= needed) return;
  throw new BackupError(
    'space',
    `Not enough space to restore to ${path}: it takes about ${mib(needed)}, ${mib(free)} are free.`,
  );
}

async function copyFile(
  from: string,
  to: string,
  { signal, onProgress }: RestoreOptions,
  total: number,
): Promise<void> {
  // What a restore left that was killed.
  rmSync(to, { force: true });
  makeFile(to);
  const source = openSync(from, 'r');
  const target = openSync(to, 'r+');
  try {
    const chunk = Buffer.alloc(chunkBytes);
    for (let at = 0; ; ) {
      const bytes = readSync(source, chunk, 0, chunk.length, at);
      if (bytes === 0) return;
      for (let done = 0; done < bytes; ) done += writeSync(target, chunk, done, bytes - done, at + done);
      at += bytes;
      onProgress?.(at, total);
      await new Promise((next) => setImmediate(next));
      if (signal?.aborted) throw interrupted();
    }
  } finally {
    closeSync(source);
    closeSync(target);
  }
}

function interrupted(): BackupError {
  return new BackupError('failed', 'Interrupted. Nothing was changed.');
}

async function verified(copy: string, { backup, verify, signal }: RestoreOptions): Promise<BackupFacts> {
  const facts = await verify(copy).catch((error: unknown) => {
    if (signal?.aborted) throw interrupted();
    if (!(error instanceof BackupError)) throw error;
    throw new BackupError(error.fault, error.message.replaceAll(copy, backup), error);
  });
  if (facts.kind !== 'backup') throw new BackupError('foreign', `${backup} is not a backup.`);
  if (facts.format <= facts.newestFormat) return facts;
  throw new BackupError(
    'foreign',
    `${backup} was made by version ${facts.madeBy} (format ${facts.format}, this version supports up to ` +
      `${facts.newestFormat}). Restore it with that version or a newer one.`,
  );
}

/** Makes the copy of a backup the data file of a store, but for the limit state, which is still in it. */
function makeStoreOf(copy: string): void {
  using database = new Database(copy, { readwrite: true, strict: true });
  database.run('PRAGMA journal_mode = MEMORY');
  database.run('PRAGMA synchronous = OFF');
  database.run('PRAGMA secure_delete = OFF');
  database.transaction(() => {
    for (const table of noteTables) database.run(`DROP TABLE ${table}`);
    // A session that was ended after the backup stays ended.
    const sessions = database.query(`SELECT 1 FROM sqlite_schema WHERE name = 'sessions'`).all();
    if (sessions.length > 0) database.run('DELETE FROM sessions');
    database.run(`PRAGMA application_id = ${storeApplicationId}`);
  })();
  database.close();
  syncFile(copy);
}

/** The moment at which the new store takes the place of the old one. */
function takeIntoUse(copy: string, files: StoreFiles): void {
  using old = existsSync(files.data) ? closed(files.data) : undefined;
  // What there is now of these belongs to a file that is whole without them, or to one that nobody can open.
  for (const suffix of ['-wal', '-shm', '-journal']) rmSync(files.data + suffix, { force: true });
  syncFolderOf(files.data);
  renameSync(copy, files.data);
  syncFolderOf(files.data);
  try {
    old?.disown();
    finishRestore(files);
  } catch (error) {
    throw new BackupError(
      'failed',
      `The store was restored, but its limit state is not in its own file yet (${fileReason(error as Error, files.limits)}). ` +
        'The next start of the service writes it.',
      error,
    );
  }
}

/** The store that is replaced. */
interface Old extends Disposable {
  /** Makes a command that still waits for the old file see that it is none any more. */
  disown(): void;
}

/** The old store, whole in its data file and locked; undefined when it is so damaged that it cannot be opened. */
function closed(path: string): Old | undefined {
  let database: Database | undefined;
  try {
    database = new Database(path, { readwrite: true, strict: true });
    database.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    // Only who is alone can take the log in; then nothing of it is left that the new file could be mistaken for.
    database.run('PRAGMA journal_mode = DELETE');
    database.run('PRAGMA journal_mode = MEMORY');
    database.run('BEGIN EXCLUSIVE');
  } catch (error) {
    database?.close();
    const code = error instanceof SQLiteError ? String(error.code) : '';
    if (/^SQLITE_(BUSY|LOCKED)/.test(code)) {
      throw new BackupError(
        'exists',
        `A command is using the store ${path}. Wait for it to end, and try again.`,
      );
    }
    if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) return undefined;
    throw error;
  }
  const held = database;
  return {
    disown: () => {
      held.run('PRAGMA application_id = 0');
      held.run('COMMIT');
    },
    [Symbol.dispose]: () => held.close(),
  };
}

function failure(path: string, error: Error): BackupError {
  return new BackupError('failed', `Cannot restore to ${path}: ${fileReason(error, path)}.`, error);
}
