import { Command, CommanderError } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { ConfigError, readConfig } from '../config.ts';
import { CommandError } from './terminal.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Runs a command line and returns its exit code: 0 done, 1 could not be done, 2 wrong use. */
export async function run(argv: readonly string[], environment: Environment): Promise<0 | 1 | 2> {
  const program = new Command('animal-store')
    .description('The Animal Store API: a self-hosted HTTP/JSON service for the animals of a pet store.')
    .version(packageJson.version)
    .exitOverride();

  program
    .command('serve')
    .description('answer requests until SIGTERM or SIGINT')
    .action(async () => {
      const { serve } = await import('./serve.ts');
      await serve(readConfig(environment));
    });

  try {
    await program.parseAsync(argv, { from: 'user' });
    return 0;
  } catch (error) {
    return report(error);
  }
}

function report(error: unknown): 0 | 1 | 2 {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (!(error instanceof Error)) throw error;
  process.stderr.write(`animal-store: ${error.message}\n`);
  if (error instanceof CommandError) return error.exitCode;
  return error instanceof ConfigError ? 2 : 1;
}
