/** The names of files while they are made, and what is left of them when whoever made them was killed. */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** What a backup is called until it is whole. Who makes it is told by the number of the process. */
export function partialName(name: string): string {
  return `${name}.${process.pid}.partial`;
}

const partial = /^(.*)\.(\d+)\.partial(?:\.limits|-journal)?$/;

/** Removes a file that never got its name, with what belongs to it. */
export function removePartial(path: string): void {
  for (const suffix of ['', '.limits', '-journal']) rmSync(path + suffix, { force: true });
}

/** Removes what processes that have ended left in a folder, of backups with such names. */
export function removeLeftOvers(folder: string, isConcerned: (name: string) => boolean): void {
  for (const entry of readdirSync(folder)) {
    const [, name = '', pid] = partial.exec(entry) ?? [];
    if (pid !== undefined && isConcerned(name) && !isRunning(Number(pid))) {
      rmSync(join(folder, entry), { force: true });
    }
  }
}

/** Whether another process with this number runs: this one begins only now. */
function isRunning(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
