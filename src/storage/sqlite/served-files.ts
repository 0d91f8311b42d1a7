/**
 * The identities of the data file, its WAL and its WAL-index, which the serving process records in the limit file. They
 * show that one of these files was replaced, even after the process was killed.
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { StorageUnusable } from '../storage.ts';
import { sizeOf } from './disk.ts';
import type { StoreFiles } from './files.ts';
import { fileMagic, header } from './limits/layout.ts';
import { tryLock } from './serving-lock.ts';

/** Time to wait for another command that holds the serving lock. The wait blocks the thread. */
const lockWaitMs = 100;

const namesOf = ({ data }: StoreFiles) => [data, `${data}-wal`, `${data}-shm`] as const;

/**
 * Inode number and creation time (0 if the file system has none), which are different for a copy of the file. Without
 * the device number, which may change when a machine or container restarts.
 */
function marksOf(path: string): bigint[] {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return [found?.ino ?? 0n, found?.birthtimeNs ?? 0n].map((mark) => BigInt.asUintN(64, mark));
}

/** Records the files in use. `limits` is the content of the limit file. */
export function recordServed(files: StoreFiles, limits: ArrayBufferLike): void {
  recordIn(limits).set(namesOf(files).flatMap(marksOf));
}

function recordIn(limits: ArrayBufferLike): BigUint64Array {
  return new BigUint64Array(limits, header.served * 8, header.servedWords);
}

/** Undefined if the store was never served, or only by a version that records nothing. */
function recorded(limits: string): BigUint64Array | undefined {
  const bytes = Buffer.alloc((header.served + header.servedWords) * 8);
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
  if (!bytes.toString('latin1').startsWith(fileMagic)) return undefined;
  const record = recordIn(new Uint8Array(bytes).buffer);
  return record.some((mark) => mark !== 0n) ? record : undefined;
}

/**
 * Throws `StorageUnusable` if these are not the files that a running service uses, or if the WAL contains changes to
 * another data file, which SQLite would apply to this one. Must be called before SQLite opens the files.
 */
export function expectServedFiles(files: StoreFiles, role: 'serving' | 'worker' | 'beside'): void {
  const record = recorded(files.limits);
  if (record === undefined && role !== 'worker') return;
  const names = namesOf(files);
  const [data, wal] = names;
  const isServed = (path: string, index: number) =>
    marksOf(path).every((mark, at) => mark === record?.[2 * index + at]);
  const replaced = names.find((name, index) => !isServed(name, index));
  if (replaced === undefined) return;
  if (role === 'worker' || (role === 'beside' && isLocked(files))) {
    throw new StorageUnusable(
      `${replaced} is not the file that the running service uses, because it was moved, deleted or replaced. Put the ` +
        'original file back: see "Lost store files" in docs/operating.md.',
    );
  }
  if (replaced !== data || sizeOf(wal) === 0 || !isServed(wal, 1)) return;
  throw new StorageUnusable(
    `The data file ${data} was replaced, but ${wal} still contains the latest changes to the original data file. Put the ` +
      'original data file back, or restore a backup with "animal-store restore FILE --replace". To use this data file ' +
      `without these changes, move ${wal} away.`,
  );
}

function isLocked(files: StoreFiles): boolean {
  using lock = tryLock(files, lockWaitMs);
  return lock === undefined;
}
