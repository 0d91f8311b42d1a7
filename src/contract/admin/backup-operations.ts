import { type FileContent, type Operation, type Success, shown } from '../operation.ts';
import { Backup, BackupState, DownloadQuery, NamedBackup, NewBackup, Verification } from './backups.ts';

const made: Success<Backup> = {
  descriptions: { 201: 'The backup was made.' },
  statusOf: () => 201,
  schema: Backup,
  json: (backup) => JSON.stringify(backup),
};

const file: Success<FileContent> = {
  descriptions: { 200: 'The file.' },
  statusOf: () => 200,
  file: true,
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
    body: { schema: NewBackup, optional: true },
    success: made,
    errors: ['backup_in_progress', 'backup_not_possible', 'backup_failed'],
  },
  downloadBackup: {
    ...common,
    operationId: 'downloadBackup',
    method: 'GET',
    path: '/backups/download',
    summary: 'Download a backup',
    description:
      'Returns the file of a backup. It holds all of the store, so this is recorded in the audit log.',
    role: 'admin',
    query: DownloadQuery,
    success: file,
    errors: ['backup_not_found'],
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
