/** How this program is called: as the one file it was built to, or by the runtime with its script. */
import type { Environment } from './command.ts';
import { shellWord } from './terminal.ts';

/** The words that start this program once more, under the same runtime options. */
export function ownCommand(): string[] {
  return Bun.isStandaloneExecutable ? [process.execPath] : [process.execPath, ...process.execArgv, Bun.main];
}

/** How whoever started this program calls it again in a shell. */
export function commandInShell({ npm_command: npm }: Environment): string {
  if (Bun.isStandaloneExecutable) return shellWord(process.execPath);
  if (npm !== undefined) return 'npx animal-store';
  // Bun would run what a bunfig.toml of the working directory names.
  return [process.execPath, '--config=/dev/null', Bun.main].map(shellWord).join(' ');
}
