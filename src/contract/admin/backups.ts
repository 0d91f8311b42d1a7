import * as z from 'zod';
import { bodyError, count, instant } from '../values.ts';

const name = z.string().meta({
  description: 'Name of the file in BACKUP_FOLDER.',
  examples: ['animal-store-2026-11-22T093000Z.backup'],
});

export const Backup = z
  .object({
    name,
    bytes: count.meta({ description: 'Size of the file.' }),
    createdAt: instant('When the backup was begun, UTC: all that was acknowledged before is in it.'),
  })
  .meta({ id: 'Backup', description: 'A whole copy of the store.' });

export const BackupState = z
  .object({
    folder: z
      .string()
      .nullable()
      .meta({ description: 'Where backups are; null while BACKUP_FOLDER is not set.' }),
    everySeconds: count.nullable().meta({ description: 'How often one is made; null when only on request.' }),
    keep: count.meta({ description: 'How many are kept.' }),
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
    counts: z.record(z.string(), count).meta({ description: 'Rows of each table.' }),
  })
  .meta({ id: 'Verification', description: 'What a sound backup holds.' });

export type Backup = z.infer<typeof Backup>;
export type BackupState = z.infer<typeof BackupState>;
export type Verification = z.infer<typeof Verification>;
