import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type App, startApp, startWorkers, systemRuntime, WorkerEnded } from '../../app/app.ts';
import { openapiText } from '../../app/openapi.ts';
import type { Config } from '../../config.ts';
import { basePath } from '../../contract/operations.ts';
import { maskedUrl } from '../../domain/masked-url.ts';
import type { IssuedKey } from '../../operations/admin/keys.ts';
import type { Environment } from '../command.ts';
import { backupTaskCommand, openLog, workerCommand } from '../processes.ts';
import { ended, interruption } from '../signals.ts';
import { CommandError, messageOf, say, shellWord, styled } from '../terminal.ts';

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

function announce(
  { url, firstKey, console }: App,
  { publicUrl, databaseUrl }: Config,
  command: string,
): void {
  say(`Animal Store API   ${styled('bold', publicUrl ?? url)}${basePath}`);
  say(`Reference          ${publicUrl ?? url}/docs`);
  if (console !== undefined) {
    // On a terminal with a sign-in code, behind `#`, which no server or log gets. Other readers of standard output keep it.
    const code = process.stdout.isTTY === true ? `/#code=${console.makeCode()}` : '';
    say(`Console            ${console.url}${code}`);
  }
  if (firstKey !== undefined) announceFirstKey(firstKey, url, databaseUrl, command);
}

const never = new Promise<never>(() => {});

/** Words errors of the port by the settings. Undefined when the signal that ends the service ended a worker at its start. */
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

/** Only a terminal is shown the key: other readers of standard output, such as a container's log, keep it. */
function announceFirstKey(
  { key, accountId }: IssuedKey,
  url: string,
  databaseUrl: string,
  command: string,
): void {
  const here = `cd ${shellWord(process.cwd())} && ${command}`;
  say();
  if (process.stdout.isTTY === true) {
    say('Created a new store. Its first API key (plan free), shown only once:');
    say(`  ${styled('bold', key)}`);
    sayExample(key, url);
  } else {
    const file = firstKeyFile(databaseUrl);
    try {
      writePrivate(file, `${key}\n`);
      say(
        `Created a new store. Its first API key (plan free) is in ${file}; copy the key, then delete the file.`,
      );
      sayExample(`$(cat ${shellWord(file)})`, url);
    } catch (error) {
      say(`Created a new store, but could not write its first API key to ${file}: ${messageOf(error)}.`);
      say('Create another key:');
      say(`  ${here} keys create --account ${accountId} --scopes all`);
    }
  }
  say('Manage accounts and keys:');
  say(`  ${here} --help`);
}

function sayExample(key: string, url: string): void {
  say('Try it:');
  say(`  curl -H "Authorization: Bearer ${key}" ${url}${basePath}/pets`);
}

/** Beside the data file; for a store that is no file, where the embedded one would be. */
function firstKeyFile(databaseUrl: string): string {
  const path = /^sqlite:(?:\/\/)?(.+)$/.exec(databaseUrl)?.[1]?.trim();
  return resolve(`${path ?? 'data/animal-store'}.first-key`);
}

function writePrivate(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  rmSync(file, { force: true });
  writeFileSync(file, text, { mode: 0o600, flag: 'wx' });
}
