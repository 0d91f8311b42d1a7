import { type App, startApp, startWorkers, systemRuntime, WorkerEnded } from '../app.ts';
import type { Config } from '../config.ts';
import { basePath } from '../contract/operations.ts';
import { maskedUrl } from '../domain/masked-url.ts';
import { backupTaskCommand } from './backup-task.ts';
import type { Environment } from './command.ts';
import { printFirstKey } from './first-key.ts';
import { openLog } from './log.ts';
import { openapiText } from './openapi.ts';
import { workerCommand } from './serve-worker.ts';
import { ended, interruption } from './signals.ts';
import { CommandError, say, styled } from './terminal.ts';

export interface ServeOptions {
  /** What the configuration was read from; workers read it again. */
  readonly environment: Environment;
  readonly startedByNpx: boolean;
  /** How the command line is called, in the working directory. */
  readonly command: string;
}

/**
 * Serves until SIGTERM, SIGINT or SIGHUP, then drains and stops; a signal a second later or more ends the process at
 * once. npx does not pass SIGTERM on: started by it, the service also stops when its parent is gone.
 */
export async function serve(
  config: Config,
  { environment, startedByNpx, command }: ServeOptions,
): Promise<void> {
  // Taken first: a parent that goes during the start is to be missed too.
  const parent = startedByNpx ? process.ppid : undefined;
  using interrupted = interruption();
  const log = await openLog(config.logLevel);
  const { workers } = config;
  const runtime = systemRuntime(backupTaskCommand());
  const starting =
    workers > 1
      ? startWorkers(config, { ...environment }, workerCommand, log, runtime)
      : startApp(config, (listening) => openapiText(config, listening), log, runtime);
  {
    await using app = await started(starting, config, interrupted.signal);
    if (app !== undefined) {
      announce(app, config, command);
      const { url, encryption } = app;
      const database = maskedUrl(config.databaseUrl);
      log.info({ url, database, encryption, ...(workers > 1 && { workers }) }, 'serving');
      const lost = await Promise.race([ended(interrupted.signal, parent), app.lost ?? never]);
      if (lost !== undefined) throw lost;
      log.info('stopping');
    }
  }
  log.info('stopped');
}

/** Says where the service and its console are, and what the first key is if there is one. */
function announce(
  { url, firstKey, console }: App,
  { publicUrl, databaseUrl }: Config,
  command: string,
): void {
  say(`Animal Store API   ${styled('bold', publicUrl ?? url)}${basePath}`);
  say(`Reference          ${publicUrl ?? url}/docs`);
  if (console !== undefined) say(`Console            ${consoleLink(console)}`);
  if (firstKey !== undefined) printFirstKey({ firstKey, url, databaseUrl, command });
}

/**
 * On a terminal, with the code of a first sign-in; behind `#`, so that no server and no log gets it. What else reads
 * standard output keeps it, so there operators sign in with their token.
 */
function consoleLink({ url, makeCode }: NonNullable<App['console']>): string {
  return process.stdout.isTTY === true ? `${url}/#code=${makeCode()}` : url;
}

const never = new Promise<never>(() => {});

/**
 * Waits for the start; what the system says about the port is said in the words of the settings. Undefined when the
 * signal that ends the service reached a worker so early that it ended by it.
 */
async function started(
  starting: Promise<App>,
  { host, port }: Config,
  interrupted: AbortSignal,
): Promise<App | undefined> {
  try {
    return await starting;
  } catch (error) {
    if (interrupted.aborted && error instanceof WorkerEnded) return undefined;
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EADDRINUSE') {
      const remedy = 'Stop the process that uses it, or set PORT to another port (0 for any free port).';
      throw new CommandError(`Port ${port} on ${host} is already in use. ${remedy}`);
    }
    if (code === 'EACCES') {
      throw new CommandError(
        `No permission to listen on port ${port} of ${host}. Set PORT to a port above 1023.`,
      );
    }
    throw error;
  }
}
