import * as z from 'zod';
import { createdJson, defineOperations, type FileContent, okJson, type Success } from '../operation.ts';
import { bodySchema, count, instant, objectSchema, requiredString } from '../values.ts';

const name = requiredString().meta({
  description: 'Name of the file in BACKUP_FOLDER.',
  examples: ['animal-store-2026-11-22T093000Z.backup'],
});

export const defaultLabel = 'manual';

const labelForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/;

const NewBackup = bodySchema('NewBackup', 'The backup to create.', 'a new backup', {
  label: z
    .string()
    .regex(labelForm, 'must be 1 to 40 of A-Z a-z 0-9 . _ - and begin with a letter or digit')
    .optional()
    .meta({
      description: `Purpose of the backup, which becomes part of the file name. Defaults to \`${defaultLabel}\`.`,
      examples: ['before-upgrade'],
    }),
});

const DownloadQuery = z.strictObject({ name });

const counts = z.record(z.string(), count).describe('Number of rows in each table.');

const LastVerification = objectSchema('LastVerification', 'The result of a verification.', {
  at: instant('Time of the verification (UTC).'),
  isSound: z.boolean().describe('Whether the backup was intact.'),
  message: z.string().nullable().describe('Description of the damage; null if the backup was intact.'),
  counts: counts.nullable(),
});

export const Backup = objectSchema('Backup', 'A complete copy of the store.', {
  name,
  label: z
    .string()
    .nullable()
    .describe('Label of a manual backup, which is never deleted automatically; null for a scheduled backup.'),
  bytes: count.describe('Size of the file.'),
  createdAt: instant(
    'Start time of the backup (UTC). The backup contains all changes acknowledged before this time.',
  ),
  lastVerification: LastVerification.nullable().describe(
    'Result of the last verification by the service; null if there was none.',
  ),
});

export const BackupState = objectSchema('Backups', 'The backups of the store.', {
  folder: z
    .string()
    .nullable()
    .describe('Folder that contains the backups; null if BACKUP_FOLDER is not set.'),
  everySeconds: count
    .nullable()
    .describe('Interval between scheduled backups; null if backups are created only on request.'),
  keep: count.describe('Number of scheduled backups to keep.'),
  running: z
    .object({ done: count, total: count })
    .nullable()
    .describe('Bytes written so far and in total; null if no backup is in progress.'),
  lastError: z.string().nullable().describe('Error from the last backup; null if it succeeded.'),
  backups: z.array(Backup).describe('Existing backups, latest first.'),
});

const NamedBackup = bodySchema('NamedBackup', 'A backup to verify.', 'a backup to verify', { name });

export const Verification = objectSchema('Verification', 'The contents of an intact backup.', {
  name,
  createdAt: instant('Start time of the backup (UTC).'),
  format: count.describe('Format of the store in the backup.'),
  counts,
});

export type Backup = z.infer<typeof Backup>;
export type BackupState = z.infer<typeof BackupState>;
export type Verification = z.infer<typeof Verification>;

const file: Success<FileContent> = {
  descriptions: { 200: 'The file.' },
  statusOf: () => 200,
  file: true,
};

export const backupOperations = defineOperations(
  { tag: { name: 'Backups', description: 'Copies of the store.' } },
  {
    listBackups: {
      route: 'GET /backups',
      summary: 'List backups',
      description: 'Returns the backups in BACKUP_FOLDER and the progress of a running backup.',
      success: okJson(BackupState, 'The backups.'),
    },
    createBackup: {
      route: 'POST /backups',
      summary: 'Create a backup',
      description:
        'Writes a complete, consistent copy of an embedded store to BACKUP_FOLDER without interrupting the service. Responds when the backup is finished.',
      // A backup changes nothing in the store, so retries need no `Idempotency-Key`.
      repeatable: false,
      body: { schema: NewBackup, optional: true },
      success: createdJson(Backup, 'The backup was created.'),
      errors: ['backup_in_progress', 'backup_not_possible', 'backup_failed'],
    },
    downloadBackup: {
      route: 'GET /backups/download',
      summary: 'Download a backup',
      description:
        'Returns a backup file. It contains the whole store, so the download is recorded in the audit log.',
      role: 'admin',
      query: DownloadQuery,
      success: file,
      errors: ['backup_not_found'],
    },
    verifyBackup: {
      route: 'POST /backups/verify',
      summary: 'Verify a backup',
      description: 'Verifies all data in a backup and counts its rows.',
      role: 'viewer',
      repeatable: false,
      body: { schema: NamedBackup },
      success: okJson(Verification, 'The backup is intact.'),
      errors: ['backup_not_found', 'backup_damaged', 'backup_failed'],
    },
  },
);
