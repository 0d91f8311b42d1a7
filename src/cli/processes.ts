/** Starts the program's processes, runs their internal commands, and sets up logging. */
import { setPriority } from 'node:os';
import type { Logger } from 'pino';
import type { WorkerQuery } from '../operations/observability/worker-queries.ts';
import type { Environment } from './command.ts';
import { currentCommand } from './memory-options.ts';
import { processOutput } from './process-output.ts';
import { ignoreStopSignals } from './signals.ts';
import { errorMessage, quoteForShell } from './terminal.ts';

export function shellCommand({ npm_command: npm }: Environment): string {
  if (Bun.isStandaloneExecutable) return quoteForShell(process.execPath);
  if (npm !== undefined) return 'npx animal-store';
  // Without these options, Bun would read a bunfig.toml and .env files in the working directory.
  return [process.execPath, '--config=/dev/null', '--no-env-file', Bun.main].map(quoteForShell).join(' ');
}

/** Logs to standard error: plain text on a terminal, otherwise JSON lines that include `fields`. */
export async function createLog(
  level: string,
  fields: Readonly<Record<string, unknown>> | null = null,
): Promise<Logger> {
  const { default: pino } = await import('pino');
  const format = process.stderr.isTTY
    ? (await import('pino-pretty')).prettyFactory({ singleLine: true })
    : String;
  const base = { base: fields, timestamp: pino.stdTimeFunctions.isoTime };
  let report = '';
  const reports = pino({ ...base, level: 'warn' }, { write: (line) => (report = format(line)) });
  processOutput.formatLoss = (lines) => {
    reports.warn({ lines }, 'log lines were lost, because they could not be written');
    return report;
  };
  return pino({ ...base, level }, { write: (line) => process.stderr.write(format(line)) });
}

export const backupTask = 'backup-task';

export function backupTaskCommand(): string[] {
  return [...currentCommand(), backupTask];
}

/** Gives this process a lower priority than the processes that serve requests. */
const lowPriority = 15;

/** Runs the task of the parent process. Must be called before anything else is loaded, which takes most of the time. */
export async function runBackupTask(): Promise<void> {
  const finish = bufferServiceOutput();
  ignoreStopSignals();
  setPriority(lowPriority);
  const [{ runParentTask }, { cleanUpTask, executeTask }] = await Promise.all([
    import('../supervisor/task-link.ts'),
    import('../app/backup-task.ts'),
  ]);
  await runParentTask(executeTask, cleanUpTask);
  await finish();
}

/** Maximum time to write the last lines before a service exits. */
const flushTimeoutMs = 1_000;

/** Makes the output of a service independent of its reader. Returns a function that writes the last lines. */
export function bufferServiceOutput(): () => Promise<void> {
  processOutput.takeOver(process.stdout, process.stderr);
  const finish = async () => {
    if (!(await processOutput.flush(flushTimeoutMs))) process.exit();
  };
  // By default, the runtime prints the error itself, and the process would hang instead of exiting.
  const crash = async (error: unknown) => {
    process.stderr.write(`${Bun.inspect(error)}\n`);
    process.exitCode = 1;
    await processOutput.flush(flushTimeoutMs);
    process.exit();
  };
  process.on('uncaughtException', crash);
  process.on('unhandledRejection', crash);
  return finish;
}

export const serveWorker = 'serve-worker';

/** Starts a worker. The number identifies the worker in process lists. */
export function workerCommand(worker: number): string[] {
  return [...currentCommand(), serveWorker, String(worker)];
}

/** Serves until the supervisor stops it. Exits with code 1 as soon as the supervisor exits, to free the port. */
export async function runWorker(): Promise<0 | 1> {
  ignoreStopSignals();
  const { SupervisorLink } = await import('../supervisor/link.ts');
  using link = new SupervisorLink(() => void processOutput.flush(flushTimeoutMs).then(() => process.exit(1)));
  const [{ startService, createSystemRuntime }, { readConfig }, { openapiDocument }] = await Promise.all([
    import('../app/app.ts'),
    import('../config.ts'),
    import('../app/openapi.ts'),
  ]);
  const { environment, worker, workers, port, startedAt } = await link.started;
  const config = { ...readConfig(environment), port };
  const log = await createLog(config.logLevel, { worker });
  const openapi = (listening: string) => openapiDocument(config, listening);
  try {
    await using service = await startService(
      config,
      openapi,
      log,
      { ...createSystemRuntime(), output: processOutput },
      {
        number: worker,
        workers,
        port: link.store,
        startedAt,
      },
    );
    link.answer((question) => service.watch.answer(question as WorkerQuery));
    link.reportServing({ url: service.url, port: service.port });
    await link.stopped;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
    link.reportFailure({ message: errorMessage(error), code });
    return 1;
  }
  return 0;
}
