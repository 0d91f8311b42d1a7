import type { BackupOperations } from '../backups.ts';
import type { HandlersOf } from './handlers.ts';

interface Services {
  readonly backups: BackupOperations;
}

export const backupHandlers = {
  listBackups: ({ backups }) => backups.state(),
  createBackup: ({ backups }, _input, { actor }) => backups.create(actor),
  verifyBackup: ({ backups }, { body }) => backups.verify(body.name),
} satisfies HandlersOf<Services, 'listBackups' | 'createBackup' | 'verifyBackup'>;
