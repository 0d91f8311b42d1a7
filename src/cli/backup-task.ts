/** A process that makes or verifies one backup for another process: a command for that one, and in no help. */
import { setPriority } from 'node:os';
import type { ExitCode } from './cli.ts';
import { ownCommand } from './own-command.ts';
import { ignoreInterruption } from './signals.ts';

export const backupTask = 'backup-task';

/** How this program is started to do one. */
export function backupTaskCommand(): string[] {
  return [...ownCommand(), backupTask];
}

/** Whoever serves goes first. */
const politePriority = 5;

export async function runBackupTask(): Promise<ExitCode> {
  ignoreInterruption();
  setPriority(politePriority);
  const [{ answerTask }, { abandonTask, doTask }] = await Promise.all([
    import('../supervisor/task-link.ts'),
    import('../backups.ts'),
  ]);
  await answerTask(doTask, abandonTask);
  return 0;
}
