import { type Operation, type Success, shown } from '../operation.ts';
import { NoMembers } from '../orders.ts';
import { Backup, BackupState, NamedBackup, Verification } from './backups.ts';

const made: Success<Backup> = {
  descriptions: { 201: 'The backup was made.' },
  statusOf: () => 201,
  schema: Backup,
  json: (backup) => JSON.stringify(backup),
};

const common = { tag: 'Backups', stability: 'beta', reads: [] } as const;

export const backupOperations = {
  listBackups: {
    ...common,
    operationId: 'listBackups',
    method: 'GET',
    path: '/backups',
    summary: 'List backups',
    description: 'Returns the backups in BACKUP_FOLDER, and how far one under way is.',
    success: shown(BackupState, 'The backups.'),
    errors: [],
  },
  createBackup: {
    ...common,
    operationId: 'createBackup',
    method: 'POST',
    path: '/backups',
    summary: 'Make a backup',
    description:
      'Writes a whole, consistent copy of an embedded store to BACKUP_FOLDER while it serves, and answers when it is there.',
    // It changes nothing in the store.
    repeatable: false,
    body: { schema: NoMembers, optional: true },
    success: made,
    errors: ['backup_in_progress', 'backup_not_possible', 'backup_failed'],
  },
  verifyBackup: {
    ...common,
    operationId: 'verifyBackup',
    method: 'POST',
    path: '/backups/verify',
    summary: 'Verify a backup',
    description: 'Opens a backup, checks it from end to end, and counts its rows.',
    role: 'viewer',
    repeatable: false,
    body: { schema: NamedBackup },
    success: shown(Verification, 'The backup is sound.'),
    errors: ['backup_not_found', 'backup_damaged', 'backup_failed'],
  },
} as const satisfies Readonly<Record<string, Operation>>;
