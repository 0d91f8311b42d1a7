/** The whole command line. What a command does is loaded when it runs. */
import type { Command } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { readConfig, settings } from '../config.ts';
import { addAccounts } from './account-commands.ts';
import { addBackup, addRestore } from './backup-commands.ts';
import { addCommand, addHelp, type Environment, newProgram, type ReadConfig } from './command.ts';
import { addCopy, addExport, addImport } from './file-commands.ts';
import { addBans, addKeys } from './key-commands.ts';
import { addAudit, addLimits, addOperators, addStatus, addUsage } from './operator-commands.ts';
import { commandInShell } from './own-command.ts';
import { addSandbox } from './sandbox-command.ts';
import { addCategories, addInventory, addOrders, addPets } from './shop-commands.ts';

/**
 * The parser; running a command throws what its function throws, or `CommanderError` for wrong use, which it also
 * writes to standard error unless it is silent.
 */
export function programOf(environment: Environment, isSilent = false): Command {
  const program = newProgram(packageJson.version, isSilent);
  const config = () => readConfig(environment, process.cwd());
  addServe(program, config, environment);
  addAccounts(program, config);
  addKeys(program, config);
  addLimits(program, config);
  addBans(program, config);
  addOperators(program, config);
  addPets(program, config);
  addOrders(program, config);
  addCategories(program, config);
  addInventory(program, config);
  addImport(program, config);
  addExport(program, config);
  addCopy(program, environment);
  addUsage(program, config);
  addAudit(program, config);
  addStatus(program, config);
  addBackup(program, config);
  addRestore(program, config);
  addReady(program, config);
  addOpenapi(program, config);
  addSandbox(program, environment);
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
    // Before anything is loaded: a wrong setting is the commonest reason not to start.
    const checked = config();
    const { serve } = await import('./serve.ts');
    const startedByNpx = environment.npm_command === 'exec';
    await serve(checked, { environment, startedByNpx, command: commandInShell(environment) });
  });
}

function addReady(program: Command, config: ReadConfig): void {
  addCommand(program, 'ready', {
    summary: 'Ask the service that runs here with the same settings whether it is ready (/readyz).',
    examples: ['animal-store ready', 'PORT=8080 animal-store ready'],
    notes: ['For health checks. Exit code 0: it serves requests. 1: it does not, or does not respond.'],
  }).action(async () => {
    const checked = config();
    const { sayReady } = await import('./ready.ts');
    await sayReady(checked);
  });
}

function addOpenapi(program: Command, config: ReadConfig): void {
  addCommand(program, 'openapi', {
    summary: 'Print the OpenAPI document that the service sends at /openapi.json.',
    examples: ['animal-store openapi > openapi.json'],
  }).action(async () => {
    const [{ listeningAddress }, { openapiText }, { say }] = await Promise.all([
      import('../app.ts'),
      import('./openapi.ts'),
      import('./terminal.ts'),
    ]);
    const checked = config();
    say(openapiText(checked, listeningAddress(checked.host, checked.port)));
  });
}
