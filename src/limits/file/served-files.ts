/**
 * The identities of the data file, its WAL and its WAL-index, which the serving process records in the limit file. They
 * show that one of these files was replaced, even after the process was killed.
 */
import { closeSync, existsSync, fsyncSync, openSync, readSync, statSync } from 'node:fs';
import { StoreUnusableError } from '../../outages/errors.ts';
import { fileSize, syncParentFolder, writeAll } from '../../store-files/disk.ts';
import { limitFileMagic, type StoreFiles, saveBeforeStopping } from '../../store-files/files.ts';
import { readDataHeader } from '../../store-files/open-files.ts';
import { tryLock } from '../../store-files/serving-lock.ts';
import { backupApplicationId } from '../../store-files/sqlite-file.ts';
import { wasCheckpointed } from '../../store-files/wal-file.ts';
import { header } from './layout.ts';

/** Time to wait for another command that holds the serving lock. The wait blocks the thread. */
const lockWaitMs = 100;

const fileNames = ({ data }: StoreFiles) => [data, `${data}-wal`, `${data}-shm`] as const;

/**
 * Inode number and creation time (0 if the file system has none), which are different for a copy of the file. Without
 * the device number, which may change when a machine or container restarts.
 */
function fileIdentity(path: string): bigint[] {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return [found?.ino ?? 0n, found?.birthtimeNs ?? 0n].map((mark) => BigInt.asUintN(64, mark));
}

/** Records the files in use. `limits` is the content of the limit file. */
export function recordServed(files: StoreFiles, limits: ArrayBufferLike): void {
  recordIn(limits).set(fileNames(files).flatMap(fileIdentity));
}

/**
 * Records when the data file was last modified, unless another file is in its place, and the number of changes to the
 * store. Called every second, so that `isOverwritten` and `expectNoLostChanges` can compare the files of a killed service.
 */
export function recordState(
  { data }: StoreFiles,
  limits: ArrayBufferLike,
  { nowMs, changes }: { readonly nowMs: number; readonly changes: bigint },
): void {
  const words = new BigUint64Array(limits, 0, header.changes + 1);
  if (isIn(recordIn(limits), data, 0)) words[header.modified] = BigInt(modifiedMs(data));
  words[header.seenAt] = BigInt(Math.floor(nowMs));
  if (changes > (words[header.changes] ?? 0n)) words[header.changes] = changes;
}

/** The recorded number of changes; 0 if there is no record. */
export function readRecordedChanges(limits: string): bigint {
  return wordsOf(limits)?.[header.changes] ?? 0n;
}

/** Removes everything recorded about another data file from a limit file that no process uses. Throws system errors. */
export function clearStoreRecord(limits: string): void {
  overwrite(limits, new BigUint64Array(header.changes + 1 - header.served));
}

/** Overwrites the record, and syncs the file. Throws system errors. */
function overwrite(limits: string, record: BigUint64Array): void {
  const file = openSync(limits, 'r+');
  try {
    writeAll(file, new Uint8Array(record.buffer), header.served * 8);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Throws `StoreUnusableError` if the store has fewer changes than were recorded: its WAL was lost after the service was
 * killed, or an older data file is in its place.
 */
export function expectNoLostChanges({ data, limits }: StoreFiles, recorded: bigint, found: bigint): void {
  if (found >= recorded) return;
  throw new StoreUnusableError(
    `The store ${data} lacks acknowledged changes: it has ${found}, but had at least ${recorded}. Its latest changes were in ` +
      `${data}-wal, or an older file is in its place. Put the original files back, or save what is left with "animal-store ` +
      `backup FILE" and restore it, or the latest backup if that has more, with "animal-store restore FILE --replace". If it is another store, such ` +
      `as the target of "animal-store copy", move ${limits} away. See "Lost store files" in docs/troubleshooting.md (the ` +
      `record is in ${limits}).`,
  );
}

/** Unix ms; 0 if there is no file. */
function modifiedMs(path: string): number {
  return Math.floor(statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0);
}

/** A larger difference between two times of files is not due to a service that was busy when it was killed. */
const maxUnseenMs = 120_000;

/** Whether a data file is undamaged together with the changes in its WAL. Must change neither file. May throw. */
type IsIntact = (data: string) => boolean;

/**
 * Whether another program overwrote the data file after the service was killed, such as `cp`, which keeps the file's
 * identity. SQLite modifies the file only while the service is checking it, or after it has written to the WAL. Later, only
 * a checkpoint by another program may modify it, such as one that ends early because the disk is full.
 */
function isOverwritten(files: StoreFiles, isIntact: IsIntact): boolean {
  const { data, limits } = files;
  const [seenAt, known] = [header.seenAt, header.modified].map((word) =>
    Number(wordsOf(limits)?.[word] ?? 0n),
  );
  const [modified, wal] = [data, `${data}-wal`].map(modifiedMs);
  if (!seenAt || !known || !modified || !wal || modified === known) return false;
  if (modified < known - maxUnseenMs) return true;
  if (modified <= Math.max(seenAt, wal) + maxUnseenMs) return false;
  // If a process serves the store, it has already checked the files. It may be this process, which must not open them
  // here.
  return !isLocked(files) && !(wasCheckpointed(data) && isIntact(data));
}

/**
 * Removes the record, which is outdated when no service runs: SQLite deletes the WAL when it closes the data file, and
 * creates another one for the next process. Keeps the record while it protects changes in the WAL. Must be called before
 * a process writes to the WAL of a closed store. The caller must hold the serving lock.
 */
export function clearServedRecord(files: StoreFiles): void {
  const record = recorded(files.limits);
  const [, wal] = fileNames(files);
  const isNeeded = record !== undefined && fileSize(wal) > 0 && isIn(record, wal, 1);
  if (isNeeded || (record === undefined && !isMarkedClosed(files.limits))) return;
  try {
    overwrite(files.limits, noRecord);
  } catch {
    // The next process that serves the store replaces the record.
  }
}

const noRecord = new BigUint64Array(header.servedWords);

/** Recorded instead of files while the store is closed and has no WAL. No files have these identities. */
const closedRecord = noRecord.with(0, 1n);

/**
 * Records that the store has no WAL, if that is the case. A WAL that exists later, although no process of this program has
 * opened the store, belongs to another data file. Must be called after the process has closed the data file and released
 * the serving lock.
 */
export function recordClosed(files: StoreFiles): void {
  const { limits } = files;
  const [, wal] = fileNames(files);
  try {
    if (existsSync(wal) || wordsOf(limits) === undefined) return;
    using lock = tryLock(files, 0);
    if (lock === undefined) return;
    // After a power failure, the deleted WAL must not exist again.
    syncParentFolder(wal);
    overwrite(limits, closedRecord);
    // A command first opens the WAL, and then removes the record.
    if (existsSync(wal)) overwrite(limits, noRecord);
  } catch {
    // Without this record, less is known about the files.
  }
}

export function isMarkedClosed(limits: string): boolean {
  return wordsIn(limits)?.every((mark, index) => mark === closedRecord[index]) === true;
}

function isIn(record: BigUint64Array, path: string, index: number): boolean {
  return fileIdentity(path).every((mark, at) => mark === record[2 * index + at]);
}

function recordIn(limits: ArrayBufferLike): BigUint64Array {
  return new BigUint64Array(limits, header.served * 8, header.servedWords);
}

/** The files in use; undefined if the store is closed, was never served, or only by a version that records nothing. */
function recorded(limits: string): BigUint64Array | undefined {
  const record = wordsIn(limits);
  return record?.some((mark) => mark !== 0n) && !isMarkedClosed(limits) ? record : undefined;
}

function wordsIn(limits: string): BigUint64Array | undefined {
  const words = wordsOf(limits);
  return words && recordIn(words.buffer);
}

/** The leading 64-bit words of the limit file; undefined if the file is missing or damaged. */
function wordsOf(limits: string): BigUint64Array | undefined {
  const bytes = Buffer.alloc((header.changes + 1) * 8);
  try {
    const file = openSync(limits, 'r');
    try {
      readSync(file, bytes, 0, bytes.length, 0);
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
  if (!bytes.toString('latin1').startsWith(limitFileMagic)) return undefined;
  return new BigUint64Array(new Uint8Array(bytes).buffer);
}

/**
 * Throws `StoreUnusableError` if these are not the files that a running service uses, or if the WAL contains changes to
 * another data file, which SQLite would apply to this one. Must be called before SQLite opens the files. `isOpen`: whether
 * this process may serve the store already; then the data file is not read, because closing it would release SQLite's
 * locks.
 */
export function expectServedFiles(
  files: StoreFiles,
  role: 'serving' | 'worker' | 'beside',
  isIntact: IsIntact,
  isOpen = false,
): void {
  if (role !== 'worker' && isMarkedClosed(files.limits) && fileSize(`${files.data}-wal`) > 0)
    throw walOfOther(files);
  const find = (record: BigUint64Array | undefined) =>
    record && fileNames(files).find((name, index) => !isIn(record, name, index));
  const record = recorded(files.limits);
  if (record === undefined) {
    // The process that opened the store has recorded its files.
    if (role === 'worker')
      throw notServed(
        files.limits,
        'If the program was replaced by a newer version, restart the service. Otherwise, see "….limits was deleted, moved or replaced while it was in use"',
      );
    return;
  }
  const replaced = find(record);
  // The record is read again, because a process that locks the store without serving it removes an outdated record.
  const isUsed = () => isLocked(files) && find(recorded(files.limits)) !== undefined;
  if (replaced !== undefined && (role === 'worker' || (role === 'beside' && isUsed())))
    throw notServed(replaced, 'Put the original file back: see "Lost store files"');
  const [data, wal] = fileNames(files);
  if (role === 'worker' || fileSize(wal) === 0) return;
  const isOther = isIn(record, wal, 1) && (replaced === data || isOverwritten(files, isIntact));
  if (!isOther && (isOpen || !isBackup(data))) return;
  throw new StoreUnusableError(
    `The data file ${data} was replaced, but ${wal} still contains the latest changes to the original data file. ` +
      `${saveBeforeStopping} Otherwise, put the original data file back, or restore a backup with "animal-store restore FILE ` +
      `--replace". To use this data file without these changes, move ${wal} and ${files.limits} away. If it is an exact copy of the original, ` +
      'docs/troubleshooting.md describes how to keep the changes.',
  );
}

function notServed(path: string, remedy: string): StoreUnusableError {
  return new StoreUnusableError(
    `${path} is not the file that the running service uses, because it was moved, deleted or replaced. ${remedy} in ` +
      'docs/troubleshooting.md.',
  );
}

function walOfOther({ data }: StoreFiles): StoreUnusableError {
  return new StoreUnusableError(
    `${data}-wal contains changes, but the store ${data} was closed without any. A copy of the store was probably put in its ` +
      `place after the service was killed, and SQLite would apply the changes to the copy. ` +
      `${saveBeforeStopping} Otherwise, to use the copy, move ${data}-wal away. To use the former store, put its original files back. If another program changed the store, let it finish, or ` +
      'run "PRAGMA wal_checkpoint(TRUNCATE)" in that program to apply the changes. See "Lost store files" in docs/troubleshooting.md.',
  );
}

/** Whether a backup lies at the path of a data file. `restore` turns a backup into a data file. */
function isBackup(data: string): boolean {
  const file = openSync(data, 'r');
  try {
    return readDataHeader(file)?.applicationId === backupApplicationId;
  } finally {
    closeSync(file);
  }
}

function isLocked(files: StoreFiles): boolean {
  using lock = tryLock(files, lockWaitMs);
  return lock === undefined;
}
