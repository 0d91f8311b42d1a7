/**
 * Replaces a store with a backup. The new data file, which includes the limit state, is built next to the old data file
 * and put in place by a single rename. A killed process thus leaves either the old or the new store. The limit state is
 * then moved to a separate file. If this fails, it is moved the next time the service starts (`restored-limits.ts`).
 */
import { Database } from 'bun:sqlite';
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { recordClosed } from '../limits/file/served-files.ts';
import { syncFile, syncParentFolder, writeAll } from '../store-files/disk.ts';
import {
  createFileIfMissing,
  createFolder,
  explainFileError,
  findLeftoverFiles,
  resolveStoreFiles,
  type StoreFiles,
  saveBeforeStopping,
  stopUnlessLost,
  unlessLost,
} from '../store-files/files.ts';
import { commandLockMs, tryLock } from '../store-files/serving-lock.ts';
import { backupApplicationId, hasCode, hasTable, storeApplicationId } from '../store-files/sqlite-file.ts';
import { skippedIdsPerRestore, skippedIdsSpread } from '../tables/events.ts';
import { BackupError, type BackupFacts, type VerifiedFile } from './backup.ts';
import { isKnownFormat, metadataTables, readHeader } from './backup-file.ts';
import { expectSpace } from './maker.ts';
import { copyPath, finishRestore, removeCopy } from './restored-limits.ts';

interface RestoreOptions {
  readonly backup: string;
  readonly path: string;
  readonly replace: boolean;
  /** Unix ms. */
  readonly now: number;
  readonly verify: (copy: string) => Promise<VerifiedFile>;
  readonly signal?: AbortSignal;
  /** Bytes copied so far, and in total. */
  readonly onProgress?: (done: number, total: number) => void;
}

export interface RestoreResult extends BackupFacts {
  readonly path: string;
  readonly replaced: boolean;
}

/** Time to wait for another command to stop using the old store. */
const busyTimeoutMs = 2_000;
const chunkBytes = 1_048_576;
/** Additional disk space required for the separate file with the limit state. */
const extraBytes = 4_194_304;
/** If this throws `BackupError` or `StoreUnusableError`, nothing was changed. */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreResult> {
  const restored = await restoreLocked(options);
  recordClosed(resolveStoreFiles(options.path));
  return restored;
}

async function restoreLocked(options: RestoreOptions): Promise<RestoreResult> {
  const { backup, path, replace } = options;
  const header = readHeader(backup);
  if (header.applicationId !== backupApplicationId) {
    throw new BackupError('foreign', `${backup} is not a backup made by "animal-store backup".`);
  }
  const files = resolveStoreFiles(path);
  const replaced = existsSync(files.data);
  if (replaced) checkReplaced(files.data, replace);
  else if (!replace) expectNoRemains(files.data);
  using _place = createStoreFolder(files);
  using lock = tryLock(files, commandLockMs);
  if (lock === undefined) {
    const remedy = replaced ? stopUnlessLost : `Its data file is missing. ${saveBeforeStopping}`;
    throw new BackupError('exists', `A service is using the store ${files.data}. ${remedy}`);
  }
  removeCopy(files);
  expectSpace(files.data, header.bytes + extraBytes, `to restore to ${files.data}`);
  const copy = copyPath(files);
  try {
    await copyFile(backup, copy, files.data, options, header.bytes);
    // Verifies the copy, because the copy will be served.
    const facts = await verifyCopy(copy, options);
    convertToStore(copy, options.now);
    replaceStore(copy, files);
    return { ...facts, path: files.data, replaced };
  } catch (error) {
    throw error instanceof Error && 'code' in error ? toRestoreError(files.data, error) : error;
  } finally {
    rmSync(copy, { force: true });
  }
}

/** Throws `BackupError` unless the file is a store (possibly damaged) and may be replaced. */
function checkReplaced(path: string, replace: boolean): void {
  if (statSync(path).isDirectory()) {
    throw new BackupError('exists', `${path} is a folder. Specify the data file to restore to.`);
  }
  if (!replace) {
    throw new BackupError(
      'exists',
      `A store already exists at ${path}. Use --replace to replace it completely, or restore to another path with --to.`,
    );
  }
  if (!isStore(path)) {
    throw new BackupError('exists', `${path} is not a store, so it is not replaced. Move it away first.`);
  }
}

/** Throws `BackupError` if only the data file of a store is missing, because its WAL may contain its latest changes. */
function expectNoRemains(path: string): void {
  const remains = findLeftoverFiles(path);
  if (remains.length === 0) return;
  throw new BackupError(
    'exists',
    `${path} is missing, but other files of its store exist: ${remains.join(', ')}. ${saveBeforeStopping} ` +
      'Otherwise, put the data file back, use --replace to replace the store completely, or restore to another path with --to.',
  );
}

/** Creates a store's folder. If the restore fails, removes the folder and the lock file that it created. */
function createStoreFolder({ data, lock }: StoreFiles): Disposable {
  const hadLock = existsSync(lock);
  const folder = dirname(data);
  let made: string | undefined;
  try {
    made = createFolder(folder);
  } catch (error) {
    throw toRestoreError(data, error as Error);
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
    return readHeader(path).applicationId === storeApplicationId;
  } catch {
    return statSync(path).size === 0;
  }
}

async function copyFile(
  from: string,
  to: string,
  like: string,
  { signal, onProgress }: RestoreOptions,
  total: number,
): Promise<void> {
  createFileIfMissing(to, like);
  const source = openSync(from, 'r');
  const target = openSync(to, 'r+');
  try {
    const chunk = Buffer.alloc(chunkBytes);
    for (let at = 0; ; ) {
      const bytes = readSync(source, chunk, 0, chunk.length, at);
      if (bytes === 0) return;
      writeAll(target, chunk.subarray(0, bytes), at);
      at += bytes;
      onProgress?.(at, total);
      await new Promise((next) => setImmediate(next));
      if (signal?.aborted) throw interruptedError();
    }
  } finally {
    closeSync(source);
    closeSync(target);
  }
}

function interruptedError(): BackupError {
  return new BackupError('failed', 'Interrupted. Nothing was changed.');
}

async function verifyCopy(copy: string, { backup, verify, signal }: RestoreOptions): Promise<BackupFacts> {
  const facts = await verify(copy).catch((error: unknown) => {
    if (signal?.aborted) throw interruptedError();
    if (!(error instanceof BackupError)) throw error;
    throw new BackupError(error.fault, error.message.replaceAll(copy, backup), error);
  });
  if (facts.kind !== 'backup') throw new BackupError('foreign', `${backup} is not a backup.`);
  if (isKnownFormat(facts.format)) return facts;
  if (facts.format < facts.newestFormat) {
    throw new BackupError(
      'foreign',
      `${backup} was created by an unreleased version (format ${facts.format}) and cannot be upgraded. Restore it with that ` +
        'version, export the animals ("animal-store export"), and import them into a store of this version.',
    );
  }
  throw new BackupError(
    'foreign',
    `${backup} was created by version ${facts.madeBy} (format ${facts.format}, this version supports up to ` +
      `${facts.newestFormat}). Restore it with that version or a newer one.`,
  );
}

/** Converts a copy of a backup into a store's data file. The file still contains the limit state. */
function convertToStore(copy: string, now: number): void {
  using database = new Database(copy, { readwrite: true, strict: true });
  database.run('PRAGMA journal_mode = MEMORY');
  database.run('PRAGMA synchronous = OFF');
  database.run('PRAGMA secure_delete = OFF');
  database.transaction(() => {
    for (const table of metadataTables) database.run(`DROP TABLE ${table}`);
    // Sessions that ended after the backup must not become valid again.
    if (hasTable(database, 'sessions')) database.run('DELETE FROM sessions');
    skipLostIds(database, now);
    database.run(`PRAGMA application_id = ${storeApplicationId}`);
  })();
  database.close();
  syncFile(copy);
}

/** Skips the ids of rows that were added after the backup, because clients, receivers and readers know these ids. */
function skipLostIds(database: Database, now: number): void {
  // The row of a table that never had a row is missing.
  database.run(`
    INSERT INTO sqlite_sequence (name, seq) SELECT name, 0 FROM sqlite_schema
    WHERE sql LIKE '%AUTOINCREMENT%' AND name NOT IN (SELECT name FROM sqlite_sequence)`);
  database.run('UPDATE sqlite_sequence SET seq = max(seq, ?) + ? + abs(random() % ?)', [
    ...[now * 1_000, skippedIdsPerRestore, skippedIdsSpread],
  ]);
}

function replaceStore(copy: string, files: StoreFiles): void {
  using old = existsSync(files.data) ? closeStore(files.data) : undefined;
  // If the old data file can be opened, it was checkpointed and is complete without these files; otherwise, these files
  // are useless.
  for (const suffix of ['-wal', '-shm', '-journal']) rmSync(files.data + suffix, { force: true });
  syncParentFolder(files.data);
  renameSync(copy, files.data);
  syncParentFolder(files.data);
  try {
    old?.disown();
    finishRestore(files);
  } catch (error) {
    throw new BackupError(
      'failed',
      `The store was restored, but its limit state is not yet in a separate file (${explainFileError(error as Error, files.limits)}). ` +
        'The service writes that file the next time it starts.',
      error,
    );
  }
}

interface ClosedStore extends Disposable {
  /** Changes the old file so that a command waiting for the file no longer recognizes it as a store. */
  disown(): void;
}

/** Checkpoints the old store's WAL, and locks the store; undefined if the store is too damaged to be opened. */
function closeStore(path: string): ClosedStore | undefined {
  let database: Database | undefined;
  try {
    database = new Database(path, { readwrite: true, strict: true });
    database.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    // Checkpoints the WAL, so that SQLite never applies it to the new file. Requires exclusive access.
    database.run('PRAGMA journal_mode = DELETE');
    database.run('PRAGMA journal_mode = MEMORY');
    database.run('BEGIN EXCLUSIVE');
  } catch (error) {
    database?.close();
    if (hasCode(error, /^SQLITE_(BUSY|LOCKED)/)) {
      throw new BackupError(
        'exists',
        `Another process is using the store ${path}. If it is a command, wait until it has finished, and try again. ${unlessLost}`,
      );
    }
    if (hasCode(error, /^SQLITE_(CORRUPT|NOTADB)/)) return undefined;
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

function toRestoreError(path: string, error: Error): BackupError {
  return new BackupError('failed', `Cannot restore to ${path}: ${explainFileError(error, path)}.`, error);
}
