import type { Command } from 'commander';
import { addCommand, type Environment, jsonOption, type StandaloneCommand } from '../src/cli/command.ts';
import { parseHost, parsePort } from '../src/cli/parsers.ts';
import { createLog } from '../src/cli/processes.ts';
import { catchInterruption, waitForStop } from '../src/cli/signals.ts';
import { CommandError, printJson, printLine, styleIfSupported } from '../src/cli/terminal.ts';
import { basePath } from '../src/contract/operations.ts';
import type { Sandbox } from './sandbox.ts';

const defaultPort = 4010;

export const sandboxTool: StandaloneCommand = { name: 'sandbox', add: addSandbox };

function addSandbox(program: Command, environment: Environment): void {
  addCommand(program, 'sandbox', {
    summary: 'Start the service on a temporary store, with fault injection for testing clients.',
    examples: [
      'animal-store sandbox',
      'animal-store sandbox --port 0 --json',
      'animal-store sandbox --import animals.csv',
    ],
    notes: [
      'Prints an API key for each plan. The store is deleted when the sandbox ends. The header X-Sandbox or',
      '/sandbox/faults requests errors, bans, broken connections and slow responses. /sandbox/clock advances the',
      'clock. GET /sandbox describes all of these. See docs/guides/sandbox.md.',
      '',
      'The sandbox ignores DATABASE_URL and all other settings, so it never opens a real store.',
      'Anyone who can reach its port can control it. With --json, it prints one line with url and keys when it',
      'is ready.',
    ],
    readsSettings: false,
  })
    .option('--port <port>', 'port to listen on; 0 picks a free port', parsePort, defaultPort)
    .option('--host <address>', 'address to listen on', parseHost, '127.0.0.1')
    .option('--import <file>', 'FILE.csv or FILE.ndjson with initial animals, in the format of import')
    .option('--cors-origins <origins>', 'origins allowed to call the API from browsers, separated by commas')
    .addOption(jsonOption())
    .action((options) => runSandbox(options, environment.npm_command === 'exec'));
}

interface SandboxCommand {
  readonly port: number;
  readonly host: string;
  readonly import?: string;
  readonly corsOrigins?: string;
  readonly json?: true;
}

/**
 * Runs a sandbox until SIGTERM, SIGINT or SIGHUP. npx does not forward SIGTERM, so under npx the sandbox also stops
 * when its parent exits.
 */
async function runSandbox(options: SandboxCommand, startedByNpx: boolean): Promise<void> {
  const parent = startedByNpx ? process.ppid : undefined;
  using interrupted = catchInterruption();
  const { port, host, corsOrigins, import: file } = options;
  const log = await createLog('warn');
  const [{ startSandbox }, { openapiDocument }] = await Promise.all([
    import('./sandbox.ts'),
    import('../src/app/openapi.ts'),
  ]);
  // The importer is loaded only if it is needed, so that sandboxes without an import start faster.
  const fill = file === undefined ? undefined : (await import('./import-animals.ts')).importAnimals(file);
  await using sandbox = await startSandbox({
    port,
    host,
    corsOrigins,
    log,
    openapi: openapiDocument,
    fill,
  }).catch((error) => rethrowPortError(error, options));
  if (options.json) {
    const { url, accounts } = sandbox;
    const keys = Object.fromEntries(accounts.map(({ plan, key }) => [plan, key]));
    printJson({ url, keys, accounts, pid: process.pid });
  } else announceSandbox(sandbox);
  await waitForStop(interrupted.signal, parent);
}

function announceSandbox({ url, accounts }: Sandbox): void {
  printLine(`Sandbox            ${styleIfSupported('bold', url)}${basePath}`);
  printLine(`Faults and more    curl ${url}/sandbox`);
  printLine();
  printLine('API keys, valid until the sandbox ends:');
  for (const { plan, key, perMinute } of accounts) printLine(`  ${plan.padEnd(11)} ${key}  ${perMinute}/min`);
  printLine();
  printLine('Try it:');
  printLine(
    `  curl -i -H 'Authorization: Bearer ${accounts[0]?.key}' -H 'X-Sandbox: status=503' ${url}${basePath}/pets`,
  );
}

function rethrowPortError(error: unknown, { port, host }: SandboxCommand): never {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code !== 'EADDRINUSE' && code !== 'EACCES') throw error;
  const reason = code === 'EADDRINUSE' ? 'is already in use' : 'requires more privileges';
  throw new CommandError(
    `Port ${port} on ${host} ${reason}. Choose another one with --port (0 for any free port).`,
  );
}
