import { closeSync, fsyncSync, openSync, statfsSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';

export function fileSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/**
 * Free bytes on the disk that holds the folder of a file, excluding the bytes reserved for root. Throws system errors.
 */
export function readFreeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(dirname(path));
  return bavail * bsize;
}

/** A figure for operators. Null if it cannot be read, for example because the folder was moved. */
export function readOrNull(read: () => number): number | null {
  try {
    return read();
  } catch {
    return null;
  }
}

export function writeAll(file: number, bytes: Uint8Array, position: number): void {
  for (let written = 0; written < bytes.length; ) {
    written += writeSync(file, bytes, written, bytes.length - written, position + written);
  }
}

export function syncFile(path: string): void {
  sync(path, 'r+');
}

/** Syncs the folder of a file, so that created and renamed files in it are durable. */
export function syncParentFolder(path: string): void {
  sync(dirname(path), 'r');
}

function sync(path: string, flags: 'r' | 'r+'): void {
  const file = openSync(path, flags);
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
