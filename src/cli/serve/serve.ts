import type { Logger } from 'pino';
import { type App, createSystemRuntime, startApp, startWorkers, WorkerExitedError } from '../../app/app.ts';
import { openapiDocument } from '../../app/openapi.ts';
import type { Config } from '../../config.ts';
import { basePath } from '../../contract/operations.ts';
import { maskUrl } from '../../domain/mask-url.ts';
import type { Environment } from '../command.ts';
import { processOutput } from '../process-output.ts';
import { backupTaskCommand, createLog, workerCommand } from '../processes.ts';
import { catchInterruption, waitForStop } from '../signals.ts';
import { CommandError, printLine, styleIfSupported } from '../terminal.ts';
import { announceFirstKey, FirstKeyFile, inCurrentFolder } from './first-key.ts';

interface ServeOptions {
  /** Environment variables that configure the service. Workers read the same variables. */
  readonly environment: Environment;
  readonly startedByNpx: boolean;
  /** Command that runs this program in the working directory. */
  readonly command: string;
}

/**
 * Serves until SIGTERM, SIGINT or SIGHUP, then drains and stops. Another signal, at least 1 s later, ends the process
 * immediately. npx does not forward SIGTERM, so under npx the service also stops when its parent exits.
 */
export async function serve(
  config: Config,
  { environment, startedByNpx, command }: ServeOptions,
): Promise<void> {
  // Reads the parent's process id first, to detect whether the parent exits during startup.
  const parent = startedByNpx ? process.ppid : undefined;
  using interrupted = catchInterruption();
  const log = await createLog(config.logLevel);
  for (const warning of config.warnings) log.warn(warning);
  const { workers } = config;
  const runtime = { ...createSystemRuntime(backupTaskCommand()), output: processOutput };
  const keyFile = process.stdout.isTTY === true ? undefined : new FirstKeyFile(config.databaseUrl, log);
  const starting =
    workers > 1
      ? startWorkers(config, { ...environment }, workerCommand, log, runtime, keyFile?.keep)
      : startApp(config, (listening) => openapiDocument(config, listening), log, runtime, keyFile?.keep);
  {
    await using app = await waitForStart(starting, config, interrupted.signal);
    if (app !== undefined) {
      announce(app, config, command, keyFile);
      const { url, encryption } = app;
      const database = maskUrl(config.databaseUrl);
      log.info({ url, database, encryption, ...(workers > 1 && { workers }) }, 'serving');
      if (app.console !== undefined && !app.hasOperators && process.stdout.isTTY !== true) {
        const create = `${inCurrentFolder(command)} operators create NAME --role admin`;
        log.info({ console: app.console.url, create }, createToken);
      }
      const stopError = await Promise.race([
        waitForStop(interrupted.signal, parent),
        app.writerLost ?? never,
      ]);
      if (stopError !== undefined) throw stopError;
      reportDataLoss(app, log);
      log.info('stopping');
    }
  }
  log.info('stopped');
}

/** Logged instead of a sign-in link if there are no operators and standard output is not a terminal. */
const createToken =
  "the console needs an operator token: to create one, run this command with the service's settings";

function announce(
  { url, firstKey, console }: App,
  { publicUrl }: Config,
  command: string,
  keyFile: FirstKeyFile | undefined,
): void {
  printLine(`Animal Store API   ${styleIfSupported('bold', publicUrl ?? url)}${basePath}`);
  printLine(`Reference          ${publicUrl ?? url}/docs`);
  if (console !== undefined) {
    // The sign-in code is in the fragment, which browsers do not send. The code is printed only to a terminal, because
    // logs would store it.
    const code = process.stdout.isTTY === true ? `/#code=${console.createCode()}` : '';
    printLine(`Console            ${console.url}${code}`);
  }
  if (firstKey !== undefined) announceFirstKey(firstKey, url, keyFile, command);
}

/** Reported before the process closes the files. A suspended process keeps them open. */
function reportDataLoss({ dataLoss }: App, log: Logger): void {
  const loss = dataLoss?.();
  if (loss === undefined) return;
  const { pid } = process;
  log.error(
    { loss },
    `stopping deletes the last copy of the data if its files were deleted: to save it, suspend this process at once ("kill -STOP ${pid}") and copy the files from /proc/${pid}/fd as described in "Lost store files" in docs/troubleshooting.md`,
  );
}

const never = new Promise<never>(() => {});

/**
 * Returns undefined if a signal stopped the startup. If the port is not available, the error says which setting to
 * change.
 */
async function waitForStart(
  starting: Promise<App>,
  { host, port }: Config,
  interrupted: AbortSignal,
): Promise<App | undefined> {
  try {
    return await starting;
  } catch (error) {
    if (interrupted.aborted && error instanceof WorkerExitedError) return undefined;
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EADDRINUSE') {
      const remedy = 'Stop the process that uses it, or set PORT to another port (0 for any free port).';
      throw new CommandError(`Port ${port} on ${host} is already in use. ${remedy}`);
    }
    if (code === 'EACCES') {
      throw new CommandError(
        `No permission to listen on port ${port} on ${host}. Set PORT to a port above 1023.`,
      );
    }
    throw error;
  }
}
