import { basePath } from '../contract/operations.ts';
import { type Sandbox, startSandbox } from '../sandbox/sandbox.ts';
import { openLog } from './log.ts';
import { openapiText } from './openapi.ts';
import { ended, interruption } from './signals.ts';
import { CommandError, say, sayJson, styled } from './terminal.ts';

export interface SandboxCommand {
  readonly port: number;
  readonly host: string;
  readonly import?: string;
  readonly corsOrigins?: string;
  readonly json?: true;
}

/** Runs a sandbox until SIGTERM, SIGINT or SIGHUP; started by npx, which passes no SIGTERM on, until its parent is gone. */
export async function runSandbox(options: SandboxCommand, startedByNpx: boolean): Promise<void> {
  const parent = startedByNpx ? process.ppid : undefined;
  using interrupted = interruption();
  const { port, host, corsOrigins, import: file } = options;
  const log = await openLog('warn');
  // Loaded only where there is a file: who starts a hundred of these waits for less.
  const fill = file === undefined ? undefined : (await import('./sandbox-import.ts')).importing(file);
  await using sandbox = await startSandbox({
    port,
    host,
    corsOrigins,
    log,
    openapi: openapiText,
    fill,
  }).catch((error) => explain(error, options));
  if (options.json) sayJson({ ...shown(sandbox), pid: process.pid });
  else announce(sandbox);
  await ended(interrupted.signal, parent);
}

function shown({ url, accounts }: Sandbox) {
  return {
    url,
    keys: Object.fromEntries(accounts.map(({ plan, key }) => [plan, key])),
    accounts,
  };
}

function announce({ url, accounts }: Sandbox): void {
  say(`Sandbox            ${styled('bold', url)}${basePath}`);
  say(`Faults and more    curl ${url}/sandbox`);
  say();
  say('API keys, until it ends:');
  for (const { plan, key, perMinute } of accounts) say(`  ${plan.padEnd(11)} ${key}  ${perMinute}/min`);
  say();
  say('Try it:');
  say(
    `  curl -i -H 'Authorization: Bearer ${accounts[0]?.key}' -H 'X-Sandbox: status=503' ${url}${basePath}/pets`,
  );
}

/** What the system says about the port, in the words of the command. */
function explain(error: unknown, { port, host }: SandboxCommand): never {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code !== 'EADDRINUSE' && code !== 'EACCES') throw error;
  const reason = code === 'EADDRINUSE' ? 'is already in use' : 'may not be listened on';
  throw new CommandError(
    `Port ${port} on ${host} ${reason}. Choose another one with --port (0 for any free port).`,
  );
}
