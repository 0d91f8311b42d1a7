import * as z from 'zod';
import { count, instant, oneOf } from '../values.ts';

export const importFormats = ['csv', 'ndjson'] as const;

export const ImportQuery = z.strictObject({
  format: z
    .enum(importFormats, { error: oneOf(importFormats) })
    .default('csv')
    .meta({ description: 'Format of the file.' }),
  newIds: z
    .enum(['true', 'false'], { error: oneOf(['true', 'false']) })
    .default('false')
    .meta({ description: 'Whether a file that has ids is imported; the animals get new ones.' }),
});

/** How many rejected lines an answer has at most. */
export const mostRejects = 10_000;

export const importStates = ['imported', 'already_imported'] as const;

export const ImportReport = z
  .object({
    state: z.enum(importStates).meta({
      description: 'Whether the file was imported, or was so already: then nothing was added.',
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

export const RunningImport = z
  .object({
    id: z.string().meta({ description: '`X-Request-Id` of the request that imports.' }),
    actor: z.string().meta({ description: 'Who imports, as the audit log names them.' }),
    startedAt: instant('When all of the file had come, UTC.'),
    bytes: count.meta({ description: 'Size of the file.' }),
    bytesRead: count.meta({ description: 'How much of it has been read.' }),
    added: count.meta({ description: 'Animals added so far, those of an earlier run counted, too.' }),
    rejected: count.meta({ description: 'Lines rejected so far, counted alike.' }),
  })
  .meta({ id: 'RunningImport', description: 'An import under way.' });

export const RunningImports = z
  .array(RunningImport)
  .meta({ id: 'RunningImports', description: 'The imports under way on this instance.' });

export type RunningImport = z.infer<typeof RunningImport>;
export type ImportReport = z.infer<typeof ImportReport>;
