/** A serving process under `serve` with WORKERS above 1: a command for the supervisor, and in no help. */

import type { WorkerQuestion } from '../operations/worker-questions.ts';
import type { ExitCode } from './cli.ts';
import { ownCommand } from './own-command.ts';
import { ignoreInterruption } from './signals.ts';
import { messageOf } from './terminal.ts';

export const serveWorker = 'serve-worker';

/** How this program is started as the worker with this number, which is there to be seen in lists of processes. */
export function workerCommand(worker: number): string[] {
  return [...ownCommand(), serveWorker, String(worker)];
}

/**
 * Serves as the supervisor says and until it says so. Ends at once, with 1, when the supervisor is gone: the port has to
 * be free for the next one.
 */
export async function runWorker(): Promise<ExitCode> {
  ignoreInterruption();
  const { SupervisorLink } = await import('../supervisor/link.ts');
  using link = new SupervisorLink(() => process.exit(1));
  const [{ startService, systemRuntime }, { readConfig }, { openLog }, { openapiText }] = await Promise.all([
    import('../app.ts'),
    import('../config.ts'),
    import('./log.ts'),
    import('./openapi.ts'),
  ]);
  const { environment, worker, workers, port, startedAt } = await link.started;
  const config = { ...readConfig(environment), port };
  const log = await openLog(config.logLevel, { worker });
  const openapi = (listening: string) => openapiText(config, listening);
  try {
    await using service = await startService(config, openapi, log, systemRuntime(), {
      number: worker,
      workers,
      port: link.store,
      startedAt,
    });
    link.answer((question) => service.watch.answer(question as WorkerQuestion));
    link.serving({ url: service.url, port: service.port });
    await link.stopped;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
    link.failed({ message: messageOf(error), code });
    return 1;
  }
  return 0;
}
