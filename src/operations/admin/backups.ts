import { defaultLabel } from '../../contract/admin/backups.ts';
import type { BackupOperations } from '../backups.ts';
import type { HandlersOf } from './handlers.ts';

interface Services {
  readonly backups: BackupOperations;
}

export const backupHandlers = {
  listBackups: ({ backups }) => backups.state(),
  createBackup: ({ backups }, { body: { label = defaultLabel } }, { actor }) => backups.create(actor, label),
  downloadBackup: ({ backups }, { query }, { actor }) => backups.download(actor, query.name),
  verifyBackup: ({ backups }, { body }) => backups.verify(body.name),
} satisfies HandlersOf<Services, 'listBackups' | 'createBackup' | 'downloadBackup' | 'verifyBackup'>;
