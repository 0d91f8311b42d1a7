/**
 * Runs backups in separate processes, for both the command line and the service, so that they do not block requests.
 */
import type { Logger } from 'pino';
import packageJson from '../../package.json' with { type: 'json' };
import { BackupError, type BackupFault } from '../backup/backup.ts';
import { BackupFolder } from '../backup/folder.ts';
import { BackupMaker, type RunBackupTask } from '../backup/maker.ts';
import type { Config } from '../config.ts';
import type { Clock } from '../domain/clock.ts';
import { type BackupBackend, BackupOperations } from '../operations/admin/backups.ts';
import type { Store } from '../operations/units.ts';
import { PeriodicTask } from '../outages/periodic-task.ts';
import { runTask, TaskExitedError, TaskFailedError } from '../supervisor/task-process.ts';
import { perform } from './backup-task.ts';
import { sqlitePath } from './store.ts';

export { BackupError, type VerifiedFile } from '../backup/backup.ts';
export { type RestoreResult, restoreBackup } from '../backup/restore.ts';
export type { StoreContents } from '../storage/storage.ts';
export { readServerContents, sqlitePath } from './store.ts';

const checkIntervalMs = 1_000;

/**
 * Makes backups of the embedded store at a path. `command` starts a process that calls `executeTask` (`backup-task.ts`);
 * without it, backups run in this process.
 */
export function createBackupMaker(path: string, command?: readonly string[]): BackupMaker {
  const run: RunBackupTask = command === undefined ? async (task) => perform(task) : runInProcess(command);
  return new BackupMaker({ path, madeBy: packageJson.version, run });
}

interface ServiceBackups {
  readonly store: Pick<Store, 'write'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly backupCommand?: readonly string[];
}

interface ScheduledBackups extends AsyncDisposable {
  readonly operations: BackupOperations;
}

export function createBackupOperations(
  { databaseUrl, backups: { folder, everyMs, keep } }: Config,
  { store, clock, backupCommand }: Omit<ServiceBackups, 'log'>,
): BackupOperations {
  const path = sqlitePath(databaseUrl);
  const backend: BackupBackend | undefined =
    path === undefined || folder === undefined
      ? undefined
      : { maker: createBackupMaker(path, backupCommand), folder: new BackupFolder(folder, path) };
  return new BackupOperations({ store, clock, backend, everyMs, keep });
}

export function startBackups(config: Config, { log, ...services }: ServiceBackups): ScheduledBackups {
  const operations = createBackupOperations(config, services);
  const schedule = new PeriodicTask(checkIntervalMs, async () => {
    const done = await operations.createDue();
    if (done?.kind === 'made') log.info({ ...done.backup, removed: done.removed }, 'backup made');
    if (done?.kind === 'failed') log.error({ reason: done.reason }, 'backup failed; trying again');
  });
  return {
    operations,
    [Symbol.asyncDispose]: async () => {
      await operations[Symbol.asyncDispose]();
      await schedule[Symbol.asyncDispose]();
    },
  };
}

function runInProcess(command: readonly string[]): RunBackupTask {
  return async (task, signal, onRead) => {
    try {
      return await runTask(command, task, { signal, onRead });
    } catch (error) {
      if (error instanceof TaskFailedError) throw new BackupError(error.fault as BackupFault, error.message);
      if (!(error instanceof TaskExitedError)) throw error;
      const what = task.kind === 'make' ? 'The backup failed' : 'The verification failed';
      if (signal?.aborted) throw new BackupError('failed', `Interrupted. ${what}.`);
      throw new BackupError('failed', `${what}: ${error.message}`, error);
    }
  };
}
