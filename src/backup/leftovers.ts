import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** The name of an unfinished backup or export, which contains the id of the process that writes the file. */
export function partialName(name: string): string {
  return `${name}.${process.pid}.partial`;
}

const partial = /^(.*)\.(\d+)\.partial(?:\.limits|-journal)?$/;

export function removePartial(path: string): void {
  for (const suffix of ['', '.limits', '-journal']) remove(path + suffix);
}

/** Does nothing if the file cannot be removed: the reason, such as a read-only file system, is reported elsewhere. */
function remove(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The next backup or export to this name tries again.
  }
}

/** Removes the partial files of processes that were killed. Does nothing if the folder cannot be read. */
export function removeLeftovers(folder: string, isConcerned: (name: string) => boolean): void {
  for (const entry of listEntries(folder)) {
    const [, name = '', pid] = partial.exec(entry) ?? [];
    if (pid !== undefined && isConcerned(name) && !isRunning(Number(pid))) {
      remove(join(folder, entry));
    }
  }
}

function listEntries(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/**
 * Whether another process has this id. False for the id of this process, which has not begun to write yet: the file is
 * from an earlier process with the same id.
 */
function isRunning(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
