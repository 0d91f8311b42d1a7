import type { Command } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { settings } from '../config/settings.ts';
import { readConfig } from '../config.ts';
import { escapeUnprintable } from '../domain/escape-unprintable.ts';
import { addBackupCommand, addRestoreCommand } from './backup/commands.ts';
import {
  addCommand,
  addHelp,
  createProgram,
  type Environment,
  type ReadConfig,
  type StandaloneCommand,
} from './command.ts';
import { addExportCommand, addImportCommand } from './files/commands.ts';
import { addCopy } from './files/copy.ts';
import { shellCommand } from './processes.ts';
import { resources } from './resources/names.ts';
import { addUsageCommand } from './resources/usage.ts';
import { addMigrateCommand } from './serve/migrate.ts';
import { addReadyCommand } from './serve/ready.ts';
import { addStatusCommand } from './serve/status.ts';

interface ProgramOptions {
  /** The command line. Only the commands of the resources that it names are added (default: all resources). */
  readonly words?: readonly string[];
  /** Whether usage errors are only thrown, and neither they nor warnings are printed to standard error. */
  readonly isSilent?: boolean;
  readonly envFileMistakes?: readonly string[];
  readonly tools?: readonly StandaloneCommand[];
}

/**
 * Creates the parser. Resources that `words` does not contain are added by name only, because loading their operations
 * takes most of the startup time. Parsing also runs the command, and throws its errors. Usage errors are thrown as
 * `CommanderError`.
 */
export async function createProgramParser(
  environment: Environment,
  { words = Object.keys(resources), isSilent = false, envFileMistakes = [], tools = [] }: ProgramOptions = {},
): Promise<Command> {
  const program = createProgram(packageJson.version, isSilent);
  const read = () => readConfig(environment, envFileMistakes);
  const config = () => {
    const checked = read();
    if (!isSilent)
      for (const warning of checked.warnings)
        process.stderr.write(`animal-store: ${escapeUnprintable(warning)}\n`);
    return checked;
  };
  // `serve` logs the warnings, and `ready` runs too often to repeat them.
  addServe(program, read, environment);
  for (const [name, summary] of Object.entries(resources)) {
    if (words.includes(name)) {
      const { addResource } = await import('./resources/commands.ts');
      addResource(program, name, summary, config, words[0] === name ? words[1] : undefined);
    } else program.command(name).description(summary);
  }
  addImportCommand(program, config);
  addExportCommand(program, config);
  addCopy(program, environment, envFileMistakes);
  addUsageCommand(program, config);
  addStatusCommand(program, config);
  addBackupCommand(program, config);
  addRestoreCommand(program, config);
  addMigrateCommand(program, config);
  addReadyCommand(program, read);
  addOpenapi(program, config);
  for (const tool of tools) tool.add(program, environment);
  addHelp(program);
  return program;
}

function addServe(program: Command, config: ReadConfig, environment: Environment): void {
  addCommand(program, 'serve', {
    summary: 'Start the HTTP server.',
    examples: ['animal-store serve', 'PORT=8080 DATABASE_URL=sqlite:./store/animals.db animal-store serve'],
    notes: [
      'Stops gracefully on SIGINT, SIGTERM or SIGHUP. A second signal, at least 1 s later, stops it immediately.',
      '',
      'Settings and their defaults:',
      ...Object.entries(settings).map(
        ([name, { default: value, about }]) => `  ${name}=${value}\n      ${about}`,
      ),
    ],
  }).action(async () => {
    // Settings are checked before other modules are loaded, because invalid settings are the most common cause of a
    // failed start.
    const checked = config();
    const { serve } = await import('./serve/serve.ts');
    const startedByNpx = environment.npm_command === 'exec';
    await serve(checked, { environment, startedByNpx, command: shellCommand(environment) });
  });
}

function addOpenapi(program: Command, config: ReadConfig): void {
  addCommand(program, 'openapi', {
    summary: 'Print the OpenAPI document that the service sends at /openapi.json.',
    examples: ['animal-store openapi > openapi.json'],
  }).action(async () => {
    const [{ localUrl }, { openapiDocument }, { printLine: say }] = await Promise.all([
      import('../app/app.ts'),
      import('../app/openapi.ts'),
      import('./terminal.ts'),
    ]);
    const checked = config();
    say(openapiDocument(checked, localUrl(checked.host, checked.port)));
  });
}
