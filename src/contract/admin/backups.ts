import * as z from 'zod';
import { bodyError, count, instant } from '../values.ts';

const name = z.string().meta({
  description: 'Name of the file in BACKUP_FOLDER.',
  examples: ['animal-store-2026-11-22T093000Z.backup'],
});

/** Of a backup made by hand, where none is given. */
export const defaultLabel = 'manual';

const labelForm = /^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/;

export const NewBackup = z
  .strictObject(
    {
      label: z
        .string()
        .regex(labelForm, 'must be 1 to 40 of A-Z a-z 0-9 . _ - and begin with a letter or digit')
        .optional()
        .meta({
          description: `What the backup is for. It becomes part of the name of the file. Defaults to \`${defaultLabel}\`.`,
          examples: ['before-upgrade'],
        }),
    },
    { error: bodyError('a new backup', 'label') },
  )
  .meta({ id: 'NewBackup', description: 'A backup to make.' });

export const DownloadQuery = z.strictObject({ name });

const counts = z.record(z.string(), count).meta({ description: 'Rows of each table.' });

export const LastVerification = z
  .object({
    at: instant('When the backup was verified, UTC.'),
    isSound: z.boolean().meta({ description: 'Whether it was sound.' }),
    message: z.string().nullable().meta({ description: 'What was wrong with it; null when it was sound.' }),
    counts: counts.nullable(),
  })
  .meta({ id: 'LastVerification', description: 'The result of a verification.' });

export const Backup = z
  .object({
    name,
    label: z.string().nullable().meta({
      description: 'Label of a backup made by hand, which is never removed; null for a scheduled one.',
    }),
    bytes: count.meta({ description: 'Size of the file.' }),
    createdAt: instant('When the backup was begun, UTC: all that was acknowledged before is in it.'),
    lastVerification: LastVerification.nullable().meta({
      description: 'The result of the last verification by the service; null when there was none.',
    }),
  })
  .meta({ id: 'Backup', description: 'A whole copy of the store.' });

export const BackupState = z
  .object({
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
  })
  .meta({ id: 'Backups', description: 'The backups of the store.' });

export const NamedBackup = z
  .strictObject({ name }, { error: bodyError('a backup to verify', 'name') })
  .meta({ id: 'NamedBackup', description: 'A backup to verify.' });

export const Verification = z
  .object({
    name,
    createdAt: instant('When the backup was begun, UTC.'),
    format: count.meta({ description: 'Format of the store in it.' }),
    counts,
  })
  .meta({ id: 'Verification', description: 'What a sound backup holds.' });

export type Backup = z.infer<typeof Backup>;
export type LastVerification = z.infer<typeof LastVerification>;
export type BackupState = z.infer<typeof BackupState>;
export type Verification = z.infer<typeof Verification>;
