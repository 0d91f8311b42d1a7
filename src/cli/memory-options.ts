import type { Environment } from './command.ts';
import { ownCommand } from './own-command.ts';

/**
 * Options that the runtime reads at its start, from the environment only: the memory of a machine as which it collects
 * garbage (on one with 16 GiB or more, the heap grows threefold between collections), and how long freed pages are kept for reuse.
 */
export const memoryOptions = {
  BUN_JSC_forceRAMSize: '1073741824',
  MIMALLOC_PURGE_DELAY: '1000',
} as const;

/**
 * Restarts this process in place, with the same id (execve(2)), to set the options for it and its child processes. Returns if the
 * environment sets any of them, or if the process cannot be restarted.
 */
export function restartWithMemoryOptions(words: readonly string[], environment: Environment): void {
  const isComplete = Object.keys(memoryOptions).every((name) => environment[name] !== undefined);
  if (isComplete || process.execve === undefined) return;
  try {
    process.execve(process.execPath, [...ownCommand(), ...words], { ...memoryOptions, ...environment });
  } catch {
    // Windows has no execve, and a sandbox may forbid it. The service then uses more memory.
  }
}
