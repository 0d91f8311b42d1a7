import * as z from 'zod';
import { createdJson, type FileContent, okJson, rowsOf, type Success } from '../operation.ts';
import { bodyShape, count, instant, shape } from '../values.ts';

const name = z.string().meta({
  description: 'Name of the file in BACKUP_FOLDER.',
  examples: ['animal-store-2026-11-22T093000Z.backup'],
});

export const defaultLabel = 'manual';

const labelForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/;

const NewBackup = bodyShape('NewBackup', 'A backup to make.', 'a new backup', {
  label: z
    .string()
    .regex(labelForm, 'must be 1 to 40 of A-Z a-z 0-9 . _ - and begin with a letter or digit')
    .optional()
    .meta({
      description: `What the backup is for. It becomes part of the name of the file. Defaults to \`${defaultLabel}\`.`,
      examples: ['before-upgrade'],
    }),
});

const DownloadQuery = z.strictObject({ name });

const counts = z.record(z.string(), count).meta({ description: 'Rows of each table.' });

export const LastVerification = shape('LastVerification', 'The result of a verification.', {
  at: instant('When the backup was verified, UTC.'),
  isSound: z.boolean().meta({ description: 'Whether it was sound.' }),
  message: z.string().nullable().meta({ description: 'What was wrong with it; null when it was sound.' }),
  counts: counts.nullable(),
});

export const Backup = shape('Backup', 'A whole copy of the store.', {
  name,
  label: z.string().nullable().meta({
    description: 'Label of a backup made by hand, which is never removed; null for a scheduled one.',
  }),
  bytes: count.meta({ description: 'Size of the file.' }),
  createdAt: instant('When the backup was begun, UTC: all that was acknowledged before is in it.'),
  lastVerification: LastVerification.nullable().meta({
    description: 'The result of the last verification by the service; null when there was none.',
  }),
});

export const BackupState = shape('Backups', 'The backups of the store.', {
  folder: z
    .string()
    .nullable()
    .meta({ description: 'Where backups are; null while BACKUP_FOLDER is not set.' }),
  everySeconds: count.nullable().meta({ description: 'How often one is made; null when only on request.' }),
  keep: count.meta({ description: 'How many scheduled ones are kept.' }),
  running: z
    .object({ done: count, total: count })
    .nullable()
    .meta({ description: 'Bytes written of the one under way; null when none is.' }),
  lastError: z.string().nullable().meta({ description: 'Why the last one failed; null when it did not.' }),
  backups: z.array(Backup).meta({ description: 'Those there are, the latest first.' }),
});

const NamedBackup = bodyShape('NamedBackup', 'A backup to verify.', 'a backup to verify', { name });

export const Verification = shape('Verification', 'What a sound backup holds.', {
  name,
  createdAt: instant('When the backup was begun, UTC.'),
  format: count.meta({ description: 'Format of the store in it.' }),
  counts,
});

export type Backup = z.infer<typeof Backup>;
export type LastVerification = z.infer<typeof LastVerification>;
export type BackupState = z.infer<typeof BackupState>;
export type Verification = z.infer<typeof Verification>;

const file: Success<FileContent> = {
  descriptions: { 200: 'The file.' },
  statusOf: () => 200,
  file: true,
};

const common = {
  tag: { name: 'Backups', description: 'Copies of the store.' },
  stability: 'beta',
  reads: [],
} as const;

export const backupOperations = rowsOf(
  {},
  {
    listBackups: {
      ...common,
      method: 'GET',
      path: '/backups',
      summary: 'List backups',
      description: 'Returns the backups in BACKUP_FOLDER, and how far one under way is.',
      success: okJson(BackupState, 'The backups.'),
    },
    createBackup: {
      ...common,
      method: 'POST',
      path: '/backups',
      summary: 'Make a backup',
      description:
        'Writes a whole, consistent copy of an embedded store to BACKUP_FOLDER while it serves, and answers when it is there.',
      // It changes nothing in the store.
      repeatable: false,
      body: { schema: NewBackup, optional: true },
      success: createdJson(Backup, 'The backup was made.'),
      errors: ['backup_in_progress', 'backup_not_possible', 'backup_failed'],
    },
    downloadBackup: {
      ...common,
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
      method: 'POST',
      path: '/backups/verify',
      summary: 'Verify a backup',
      description: 'Opens a backup, checks it from end to end, and counts its rows.',
      role: 'viewer',
      repeatable: false,
      body: { schema: NamedBackup },
      success: okJson(Verification, 'The backup is sound.'),
      errors: ['backup_not_found', 'backup_damaged', 'backup_failed'],
    },
  },
);
