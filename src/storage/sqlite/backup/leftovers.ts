import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** The name of an unfinished backup, which contains the id of the process that makes the backup. */
export function partialName(name: string): string {
  return `${name}.${process.pid}.partial`;
}

const partial = /^(.*)\.(\d+)\.partial(?:\.limits|-journal)?$/;

export function removePartial(path: string): void {
  for (const suffix of ['', '.limits', '-journal']) rmSync(path + suffix, { force: true });
}

export function removeLeftOvers(folder: string, isConcerned: (name: string) => boolean): void {
  for (const entry of readdirSync(folder)) {
    const [, name = '', pid] = partial.exec(entry) ?? [];
    if (pid !== undefined && isConcerned(name) && !isRunning(Number(pid))) {
      rmSync(join(folder, entry), { force: true });
    }
  }
}

/**
 * Whether another process has this id. False for the id of this process, which has not begun a backup yet: the file is
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
