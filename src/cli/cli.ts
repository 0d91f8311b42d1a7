import { CommanderError } from 'commander';
import { readEnvFiles } from '../config/env-files.ts';
import { settings } from '../config/settings.ts';
import { ConfigError } from '../config.ts';
import { ApiError } from '../contract/api-error.ts';
import type { ErrorCode } from '../contract/errors.ts';
import { escapeUnprintable } from '../domain/escape-unprintable.ts';
import { PlanError } from '../domain/plan.ts';
import type { Environment, StandaloneCommand } from './command.ts';
import { processOutput } from './process-output.ts';
import { bufferServiceOutput, runWorker, serveWorker } from './processes.ts';
import { createProgramParser } from './program.ts';
import { CommandError, errorMessage, expectOutput } from './terminal.ts';

/**
 * Adds the variables in the `.env` files of the working directory to an environment. Returns all mistakes, which stop
 * only commands that read settings.
 */
export function addEnvFiles(environment: Record<string, string | undefined>): readonly string[] {
  const { values, mistakes } = readEnvFiles('.', environment, Object.keys(settings));
  Object.assign(environment, values);
  return mistakes;
}

/** Runs a command line and returns its exit code: 0 success, 1 failure, 2 usage error. */
export async function run(
  argv: readonly string[],
  environment: Environment,
  envFileMistakes: readonly string[] = [],
  tools: readonly StandaloneCommand[] = [],
): Promise<0 | 1 | 2> {
  const asJson = argv.includes('--json');
  try {
    if (argv[0] === serveWorker) return await runWorker();
    const program = await createProgramParser(environment, {
      words: argv,
      isSilent: asJson,
      envFileMistakes,
      tools,
    });
    await program.parseAsync(argv, { from: 'user' }).catch(rethrowUnlessHelp);
    if (!isService(argv[0], tools)) await expectOutput();
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) {
      // Without --json, Commander has already printed the error and a reference to the help.
      if (asJson) printFailureAsJson(usageErrorMessage(error));
      return 2;
    }
    if (asJson) printFailureAsJson(errorMessage(error), error instanceof ApiError ? error.code : undefined);
    else process.stderr.write(`animal-store: ${escapeUnprintable(errorMessage(error), '\n')}\n`);
    if (/^(debug|trace)$/.test(environment.LOG_LEVEL ?? '')) process.stderr.write(`${Bun.inspect(error)}\n`);
    if (error instanceof CommandError) return error.exitCode;
    return error instanceof ConfigError || error instanceof PlanError ? 2 : 1;
  }
}

/** Commander throws an error after it has printed help or the version. */
function rethrowUnlessHelp(error: unknown): void {
  if (!(error instanceof CommanderError) || error.exitCode !== 0) throw error;
}

const services: readonly (string | undefined)[] = ['serve', serveWorker];

/** Whether a command runs until it is stopped, or on behalf of another process. Its output must never delay it. */
function isService(command: string | undefined, tools: readonly StandaloneCommand[]): boolean {
  return services.includes(command) || tools.some(({ name }) => name === command);
}

/**
 * Makes output independent of its reader: standard error, and standard output as well if the command is a service.
 * Other commands write results to standard output as fast as they are read. Returns a function that writes the last
 * lines before the process exits.
 */
export function bufferOutput(
  [command]: readonly string[],
  tools: readonly StandaloneCommand[],
): () => Promise<void> {
  if (!isService(command, tools)) {
    // On a terminal, progress and results keep their order.
    if (!process.stderr.isTTY) processOutput.takeOver(process.stderr);
    return async () => void (await processOutput.flush());
  }
  return bufferServiceOutput();
}

/** Prints a failure to standard error as one line of JSON, with the API's error code if it has one. */
function printFailureAsJson(message: string, code?: ErrorCode): void {
  process.stderr.write(`${escapeUnprintable(JSON.stringify({ error: { code, message } }))}\n`);
}

function usageErrorMessage({ code, message }: CommanderError): string {
  return code === 'commander.help'
    ? 'No command given. See "animal-store --help".'
    : message.replace(/^error: /, '');
}
