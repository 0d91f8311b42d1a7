/** The work of the process that makes or verifies a backup. Loads little else, because most backups are small. */
import { BackupError } from '../backup/backup.ts';
import { removePartial } from '../backup/leftovers.ts';
import { createBackup } from '../backup/make.ts';
import type { BackupTask } from '../backup/maker.ts';
import { verifyFile } from '../backup/verify.ts';
import type { TaskResult } from '../supervisor/task-process.ts';

export async function executeTask(task: unknown): Promise<TaskResult> {
  const backupTask = task as BackupTask;
  try {
    return { kind: 'done', result: perform(backupTask) };
  } catch (error) {
    const fault = error instanceof BackupError ? error.fault : 'failed';
    return { kind: 'failed', failure: { message: (error as Error).message, fault } };
  }
}

export function perform(task: BackupTask): unknown {
  return task.kind === 'make' ? createBackup(task) : verifyFile(task.path);
}

/** Deletes the partial files of an aborted task. */
export function cleanUpTask(task: unknown): void {
  const backupTask = task as BackupTask;
  if (backupTask.kind === 'make') removePartial(backupTask.target);
}
