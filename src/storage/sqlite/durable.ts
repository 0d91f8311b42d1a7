/** What makes a file, and its name, survive a power failure. */
import { closeSync, fsyncSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

export function syncFile(path: string): void {
  sync(path, 'r+');
}

/** Makes durable which names the folder of a file has. */
export function syncFolderOf(path: string): void {
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
