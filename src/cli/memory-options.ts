import type { Environment } from './command.ts';

/** Environment variables that the runtime reads only at startup. */
export const memoryOptions = {
  /** RAM size reported to the garbage collector. With 16 GiB or more, the heap may triple between collections. */
  BUN_JSC_forceRAMSize: '1073741824',
  /** How long freed pages are kept for reuse, in ms. */
  MIMALLOC_PURGE_DELAY: '1000',
} as const;

/**
 * Sets the options for this process and its children by re-executing the process with the same process id (execve(2)).
 * Returns only if the environment already sets all options, or if the process cannot be re-executed.
 */
export function restartWithMemoryOptions(words: readonly string[], environment: Environment): void {
  const isComplete = Object.keys(memoryOptions).every((name) => environment[name] !== undefined);
  if (isComplete || process.execve === undefined) return;
  try {
    process.execve(process.execPath, [...currentCommand(), ...words], { ...memoryOptions, ...environment });
  } catch {
    // Windows has no execve, and a sandbox may forbid it. Without these options, the service works but uses more
    // memory.
  }
}

/** Returns a command that starts this program with the same runtime options. */
export function currentCommand(): string[] {
  return Bun.isStandaloneExecutable ? [process.execPath] : [process.execPath, ...process.execArgv, Bun.main];
}
