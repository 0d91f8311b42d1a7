/** The file descriptors of this process: every connection takes one, and without any nobody can be accepted. */
import { readdirSync, readFileSync, statSync } from 'node:fs';

/** What a system without `/proc` is taken to allow; macOS gives at least this (OPEN_MAX). */
const assumedLimit = 10_240;

/** How many the system lets this process open. */
export function descriptorLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'latin1');
    const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    return soft === undefined ? assumedLimit : Number(soft);
  } catch {
    return assumedLimit;
  }
}

/** How many are open; infinite when there are none left to look with, 0 on a system that does not tell. */
export function openDescriptors(): number {
  try {
    // Linux tells the number as the size of the folder, since 6.2, without opening anything.
    const { size } = process.platform === 'linux' ? statSync('/proc/self/fd') : { size: 0 };
    return size > 0 ? size : readdirSync('/dev/fd').length;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'EMFILE' || code === 'ENFILE' ? Number.POSITIVE_INFINITY : 0;
  }
}
