import { lstatSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { minuteMs } from '../src/domain/clock.ts';
import { lockFile } from './store.ts';

const prefix = 'animal-store-sandbox-';
/** Prefix of a folder while it is being created, which takes milliseconds. */
const newPrefix = 'animal-store-new-sandbox-';
const abandonedAfterMs = minuteMs;

export interface Folder extends Disposable {
  readonly path: string;
}

/**
 * Creates a folder that is removed when the sandbox ends. If the process is killed, the next sandbox removes the
 * folder.
 */
export function createFolder(nowMs: number): Folder {
  const made = mkdtempSync(join(tmpdir(), newPrefix));
  // Locks the folder before the rename, because other processes search for abandoned folders by the final prefix.
  const lock = lockFile(lockOf(made));
  const path = made.replace(newPrefix, prefix);
  renameSync(made, path);
  removeLeftovers(nowMs);
  return {
    path,
    [Symbol.dispose]: () => {
      rmSync(path, { recursive: true, force: true });
      lock?.[Symbol.dispose]();
    },
  };
}

function lockOf(folder: string): string {
  return join(folder, 'running');
}

function removeLeftovers(nowMs: number): void {
  for (const name of readdirSync(tmpdir())) {
    const path = join(tmpdir(), name);
    if (name.startsWith(prefix) && isOwn(path)) removeUnlocked(path);
    if (name.startsWith(newPrefix) && isOwn(path, nowMs - abandonedAfterMs)) remove(path);
  }
}

function isOwn(path: string, before = Number.POSITIVE_INFINITY): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === process.getuid?.() && found.mtimeMs < before;
}

function removeUnlocked(path: string): void {
  try {
    using lock = lockFile(lockOf(path));
    if (lock !== undefined) remove(path);
  } catch {
    // Another sandbox is removing the folder.
  }
}

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true });
}
