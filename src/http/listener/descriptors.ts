/** The file descriptors of this process. Every connection needs one, so no connection is accepted when none is free. */
import { readdirSync, readFileSync, statSync } from 'node:fs';

/** Descriptor limit assumed on systems without `/proc`. macOS allows at least this many descriptors (OPEN_MAX). */
const assumedLimit = 10_240;

/** The last limit that could be read. Reading it needs a free descriptor. */
let knownLimit = assumedLimit;

export function descriptorLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'latin1');
    const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
    if (soft !== undefined) knownLimit = Number(soft);
  } catch {
    // The last known limit.
  }
  return knownLimit;
}

export function isOutOfDescriptors(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EMFILE' || code === 'ENFILE';
}

/**
 * Number of open descriptors; `Infinity` if all are in use, so that they cannot be listed; 0 if listing is not
 * supported.
 */
export function openDescriptors(): number {
  try {
    // Since Linux 6.2, the size of this directory is the number of descriptors, so the directory need not be opened.
    const { size } = process.platform === 'linux' ? statSync('/proc/self/fd') : { size: 0 };
    return size > 0 ? size : readdirSync('/dev/fd').length;
  } catch (error) {
    return isOutOfDescriptors(error) ? Number.POSITIVE_INFINITY : 0;
  }
}
