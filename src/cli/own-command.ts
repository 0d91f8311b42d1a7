/** Command that starts this program with the runtime options of this process. */
export function ownCommand(): string[] {
  return Bun.isStandaloneExecutable ? [process.execPath] : [process.execPath, ...process.execArgv, Bun.main];
}
