import { lstatSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lockFile } from '../storage/sqlite/sandbox.ts';

const prefix = 'animal-store-sandbox-';
/** Of folders that are being made; such a one is renamed within milliseconds. */
const newPrefix = 'animal-store-new-sandbox-';
const abandonedAfterMs = 60_000;

export interface Folder extends Disposable {
  readonly path: string;
}

/**
 * A folder that is gone with its sandbox. A process that is killed leaves it behind, without the lock in it: the next
 * sandbox removes it.
 */
export function makeFolder(nowMs: number): Folder {
  const made = mkdtempSync(join(tmpdir(), newPrefix));
  // Before it has the name under which others look for what is left behind.
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

/** Removes the folders of this user's sandboxes that have ended without doing so. */
function removeLeftovers(nowMs: number): void {
  for (const name of readdirSync(tmpdir())) {
    const path = join(tmpdir(), name);
    if (name.startsWith(prefix) && isOwn(path)) removeUnlocked(path);
    if (name.startsWith(newPrefix) && isOwn(path, nowMs - abandonedAfterMs)) remove(path);
  }
}

/** Whether it is this user's own folder, and as old as that. */
function isOwn(path: string, before = Number.POSITIVE_INFINITY): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found?.isDirectory() === true && found.uid === process.getuid?.() && found.mtimeMs < before;
}

function removeUnlocked(path: string): void {
  try {
    using lock = lockFile(lockOf(path));
    if (lock !== undefined) remove(path);
  } catch {
    // Another one is removing it.
  }
}

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true });
}
