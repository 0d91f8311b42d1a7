/**
 * Runs backups in separate processes, for both the command line and the service, so that they do not block requests.
 */
import type { Logger } from 'pino';
import packageJson from '../../package.json' with { type: 'json' };
import type { Config } from '../config.ts';
import type { Clock } from '../domain/clock.ts';
import { BackupOperations, type BackupParts } from '../operations/admin/backups.ts';
import type { Store } from '../operations/units.ts';
import { BackupError, type BackupFault, type BackupMaker } from '../storage/backup.ts';
import { sqlitePath } from '../storage/open.ts';
import { PeriodicTask } from '../storage/periodic-task.ts';
import { SqliteBackupFolder } from '../storage/sqlite/backup/folder.ts';
import { removePartial } from '../storage/sqlite/backup/leftovers.ts';
import { makeBackup } from '../storage/sqlite/backup/make.ts';
import { type BackupTask, type RunBackupTask, SqliteBackupMaker } from '../storage/sqlite/backup/maker.ts';
import { verifyFile } from '../storage/sqlite/backup/verify.ts';
import { runTask, type TaskAnswer, TaskEnded, TaskFailed } from '../supervisor/task-process.ts';

export { BackupError, type StoreContents, type Verified } from '../storage/backup.ts';
export { sqlitePath, verifyServer } from '../storage/open.ts';
export { type Restored, restoreBackup } from '../storage/sqlite/backup/restore.ts';

const checkIntervalMs = 1_000;

/**
 * Makes backups of the embedded store at a path. `command` starts a process that calls `doTask`; without it, backups
 * run in this process.
 */
export function backupMaker(path: string, command?: readonly string[]): BackupMaker {
  const run: RunBackupTask = command === undefined ? async (task) => perform(task) : inProcess(command);
  return new SqliteBackupMaker({ path, madeBy: packageJson.version, run });
}

export interface ServiceBackups {
  readonly store: Pick<Store, 'write'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly backupCommand?: readonly string[];
}

export interface ScheduledBackups extends AsyncDisposable {
  readonly operations: BackupOperations;
}

export function startBackups(
  { databaseUrl, backups: { folder, everyMs, keep } }: Config,
  { store, clock, log, backupCommand }: ServiceBackups,
): ScheduledBackups {
  const path = sqlitePath(databaseUrl);
  const parts: BackupParts | undefined =
    path === undefined || folder === undefined
      ? undefined
      : { maker: backupMaker(path, backupCommand), folder: new SqliteBackupFolder(folder, path) };
  const operations = new BackupOperations({ store, clock, parts, everyMs, keep });
  const schedule = new PeriodicTask(checkIntervalMs, async () => {
    const done = await operations.makeDue();
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

function inProcess(command: readonly string[]): RunBackupTask {
  return async (task, signal, onRead) => {
    try {
      return await runTask(command, task, { signal, onRead });
    } catch (error) {
      if (error instanceof TaskFailed) throw new BackupError(error.fault as BackupFault, error.message);
      if (!(error instanceof TaskEnded)) throw error;
      const what = task.kind === 'make' ? 'The backup failed' : 'The verification failed';
      if (signal?.aborted) throw new BackupError('failed', `Interrupted. ${what}.`);
      throw new BackupError('failed', `${what}: ${error.message}`, error);
    }
  };
}

export async function doTask(task: unknown): Promise<TaskAnswer> {
  const asked = task as BackupTask;
  try {
    return { kind: 'done', result: perform(asked) };
  } catch (error) {
    const fault = error instanceof BackupError ? error.fault : 'failed';
    return { kind: 'failed', failure: { message: (error as Error).message, fault } };
  }
}

function perform(task: BackupTask): unknown {
  return task.kind === 'make' ? makeBackup(task) : verifyFile(task.path);
}

/** Deletes the partial files of an aborted task. */
export function abandonTask(task: unknown): void {
  const asked = task as BackupTask;
  if (asked.kind === 'make') removePartial(asked.target);
}
