import * as z from 'zod';
import { count, instant, oneOf, text } from '../values.ts';
import { id, idParameter } from './values.ts';

export const importFormats = ['csv', 'ndjson'] as const;

export const PreviewQuery = z.strictObject({
  format: z
    .enum(importFormats, { error: oneOf(importFormats) })
    .default('csv')
    .meta({ description: 'Format of the file.' }),
  newIds: z
    .enum(['true', 'false'], { error: oneOf(['true', 'false']) })
    .default('false')
    .meta({ description: 'Whether a file that has ids is imported; the animals get new ones.' }),
});

export const ImportQuery = PreviewQuery.extend({
  fileName: text('Name of the file, for the list of imports.', 'animals.csv').optional(),
});

/** How many rejected lines a response has at most. */
export const mostRejects = 10_000;

export const importOutcomes = ['imported', 'already_imported', 'stopped'] as const;

export const importStates = ['receiving', 'running', ...importOutcomes, 'failed'] as const;

export const ImportReport = z
  .object({
    state: z.enum(importOutcomes).meta({
      description:
        'Whether the file was imported, had been imported before (nothing was added), or the import was stopped.',
    }),
    added: count.meta({
      description:
        'Animals of the file that were added; those of an earlier import of it that broke off are counted, too.',
    }),
    rejected: count.meta({ description: 'Lines that were not, counted alike.' }),
    rejects: z
      .array(
        z.object({
          line: count.meta({ description: 'Number of the line, from 1.' }),
          text: z.string().meta({ description: 'The line.' }),
          reason: z.string().meta({ description: 'What is wrong with it.' }),
        }),
      )
      .max(mostRejects)
      .meta({ description: 'The first 10,000 lines that were rejected, or fewer if they are long.' }),
    rejectsFile: z.string().meta({
      description:
        'The same lines as a file to mend and import: in the format of the one that was sent, with line and reason in ' +
        'front of each. Empty without rejects.',
    }),
  })
  .meta({ id: 'ImportReport', description: 'What became of an import.' });

export const ImportId = idParameter('ID of the import.');

export const Import = z
  .object({
    id: id('ID of the import.'),
    requestId: z.string().meta({ description: '`X-Request-Id` of the request that imports.' }),
    actor: z.string().meta({ description: 'The operator, as the audit log names them.' }),
    fileName: z.string().nullable().meta({ description: 'Name of the file; null when it was not sent.' }),
    format: z.enum(importFormats).meta({ description: 'Format of the file.' }),
    state: z.enum(importStates).meta({
      description:
        '`receiving` until the file has arrived, then `running`; at the end the outcome, or `failed`.',
    }),
    startedAt: instant('When the request began, UTC.'),
    endedAt: instant('When the import ended, UTC; null before that.').nullable(),
    bytes: count.meta({ description: 'Size of the file; while it is received, of what has arrived.' }),
    bytesRead: count.meta({ description: 'How much of it has been read.' }),
    added: count.meta({ description: 'Animals added so far, with those of an earlier run of the file.' }),
    rejected: count.meta({ description: 'Lines rejected so far, counted alike.' }),
    error: z.string().nullable().meta({ description: 'Why it failed; null unless it did.' }),
  })
  .meta({ id: 'Import', description: 'An import of a file.' });

export const Imports = z.array(Import).meta({
  id: 'Imports',
  description: 'Imports of this instance that are in progress, and the latest that have ended.',
});

export const ImportDetails = Import.extend({
  report: ImportReport.nullable().meta({
    description:
      'What was rejected; null until the import has ended, when it failed, and when it is no longer kept.',
  }),
}).meta({ id: 'ImportDetails', description: 'An import of a file, with its report.' });

export const ImportPreview = z
  .object({
    columns: z
      .array(z.string())
      .meta({ description: 'The columns of a CSV file, in their order. Empty for NDJSON.' }),
    rows: z
      .array(
        z.object({
          line: count.meta({ description: 'Number of the line, from 1.' }),
          name: z.string().nullable().meta({ description: 'Name of the animal; null for a rejected line.' }),
          categoryId: z
            .string()
            .nullable()
            .meta({ description: 'Its category, in decimal digits; null for a rejected line.' }),
          status: z.string().nullable().meta({ description: 'Its status; null for a rejected line.' }),
          reason: z
            .string()
            .nullable()
            .meta({ description: 'Why the line is rejected; null for an animal.' }),
          text: z.string().nullable().meta({ description: 'The rejected line; null for an animal.' }),
        }),
      )
      .meta({ description: 'The rows, as an import would read them.' }),
  })
  .meta({ id: 'ImportPreview', description: 'The first rows of a file.' });

export type Import = z.infer<typeof Import>;
export type ImportPreview = z.infer<typeof ImportPreview>;
export type ImportReport = z.infer<typeof ImportReport>;
