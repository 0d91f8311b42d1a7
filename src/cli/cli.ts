import { CommanderError } from 'commander';
import { ConfigError } from '../config.ts';
import { PlanError } from '../domain/plan.ts';
import { type Environment, programOf } from './program.ts';
import { CommandError, endQuietlyOnClosedPipe, messageOf } from './terminal.ts';

export type ExitCode = 0 | 1 | 2;

/** Runs a command line and returns its exit code: 0 done, 1 could not be done, 2 wrong use. */
export async function run(argv: readonly string[], environment: Environment): Promise<ExitCode> {
  endQuietlyOnClosedPipe();
  try {
    await programOf(environment).parseAsync(argv, { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has said what was wrong already, and where to read on.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    process.stderr.write(`animal-store: ${messageOf(error)}\n`);
    if (/^(debug|trace)$/.test(environment.LOG_LEVEL ?? '')) console.error(error);
    return exitCodeOf(error);
  }
}

function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CommandError) return error.exitCode;
  return error instanceof ConfigError || error instanceof PlanError ? 2 : 1;
}
