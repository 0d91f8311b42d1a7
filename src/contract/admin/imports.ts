import * as z from 'zod';
import { okJson, rowsOf } from '../operation.ts';
import { petTag } from '../pets.ts';
import { count, enumOf, instant, noMembers, shape, text } from '../values.ts';
import { id, idParameter } from './values.ts';

export const importFormats = ['csv', 'ndjson'] as const;

const PreviewQuery = z.strictObject({
  format: enumOf(importFormats).default('csv').meta({ description: 'Format of the file.' }),
  newIds: enumOf(['true', 'false'])
    .default('false')
    .meta({ description: 'Whether to import a file that has ids. The animals get new ones.' }),
});

const ImportQuery = PreviewQuery.extend({
  fileName: text('Name of the file, shown in the list of imports.', 'animals.csv').optional(),
});

export const maxRejects = 10_000;

const importOutcomes = ['imported', 'already_imported', 'stopped'] as const;

const importStates = ['receiving', 'running', ...importOutcomes, 'failed'] as const;

export const ImportReport = shape('ImportReport', 'Report of an import.', {
  state: z.enum(importOutcomes).meta({
    description:
      'Whether the file was imported, had been imported before (nothing was added), or the import was stopped.',
  }),
  added: count.meta({
    description: 'Added animals of the file, including those of an earlier, interrupted import of it.',
  }),
  rejected: count.meta({ description: 'Rejected lines, including earlier runs of the file.' }),
  rejects: z
    .array(
      z.object({
        line: count.meta({ description: 'Number of the line, from 1.' }),
        text: z.string().meta({ description: 'The line.' }),
        reason: z.string().meta({ description: 'Reason of the rejection.' }),
      }),
    )
    .max(maxRejects)
    .meta({ description: 'The first 10,000 rejected lines, or fewer if the lines are long.' }),
  rejectsFile: z.string().meta({
    description:
      'The same lines as a file to correct and import, in the format of the uploaded file, with line and reason in ' +
      'front of each row. Empty if no lines were rejected.',
  }),
});

const ImportId = idParameter('ID of the import.');

export const Import = shape('Import', 'An import of a file.', {
  id: id('ID of the import.'),
  requestId: z.string().meta({ description: '`X-Request-Id` of the request that imports.' }),
  actor: z.string().meta({ description: 'The operator, as named in the audit log.' }),
  fileName: z.string().nullable().meta({ description: 'Name of the file; null if it was not sent.' }),
  format: z.enum(importFormats).meta({ description: 'Format of the file.' }),
  state: z.enum(importStates).meta({
    description:
      '`receiving` until the file has arrived, then `running`, and finally the outcome or `failed`.',
  }),
  startedAt: instant('Time when the request began, UTC.'),
  endedAt: instant('When the import ended, UTC; null before that.').nullable(),
  bytes: count.meta({ description: 'Size of the file. While the file is received, the bytes so far.' }),
  bytesRead: count.meta({ description: 'Number of bytes processed so far.' }),
  added: count.meta({ description: 'Animals added so far, including earlier runs of the file.' }),
  rejected: count.meta({ description: 'Lines rejected so far, including earlier runs of the file.' }),
  error: z.string().nullable().meta({ description: 'Reason of the failure; null if there is none.' }),
});

export const Imports = z.array(Import).meta({
  id: 'Imports',
  description: 'Imports of this instance: imports in progress and the latest finished imports.',
});

const ImportDetails = Import.extend({
  report: ImportReport.nullable().meta({
    description:
      'What was rejected; null until the import has ended, when it failed, and when it is no longer kept.',
  }),
}).meta({ id: 'ImportDetails', description: 'An import of a file, with its report.' });

export const ImportPreview = shape('ImportPreview', 'The first rows of a file.', {
  columns: z.array(z.string()).meta({ description: 'The columns of a CSV file in order. Empty for NDJSON.' }),
  rows: z
    .array(
      z.object({
        line: count.meta({ description: 'Number of the line, from 1.' }),
        name: z.string().nullable().meta({ description: 'Name of the animal; null for a rejected line.' }),
        categoryId: z
          .string()
          .nullable()
          .meta({ description: 'Category of the animal, in decimal digits; null for a rejected line.' }),
        status: z.string().nullable().meta({ description: 'Its status; null for a rejected line.' }),
        reason: z.string().nullable().meta({ description: 'Reason of the rejection; null for an animal.' }),
        text: z.string().nullable().meta({ description: 'The rejected line; null for an animal.' }),
      }),
    )
    .meta({ description: 'The rows, as an import would read them.' }),
});

export type Import = z.infer<typeof Import>;
export type ImportPreview = z.infer<typeof ImportPreview>;
export type ImportReport = z.infer<typeof ImportReport>;

const params = { importId: { schema: ImportId, otherwise: 'import_not_found' } } as const;
const upload = { types: ['text/csv', 'application/x-ndjson'], description: 'The file.' } as const;

export const importOperations = rowsOf(
  { tag: petTag },
  {
    listImports: {
      method: 'GET',
      path: '/imports',
      summary: 'List imports',
      description:
        'Returns the imports of this instance: all imports in progress and the latest 20 finished imports. The list is kept ' +
        'until the service stops.',
      success: okJson(Imports, 'The imports, latest first.'),
    },
    getImport: {
      method: 'GET',
      path: '/imports/{importId}',
      summary: 'Get an import',
      description: 'Returns an import of this instance, with its rejected lines once it has ended.',
      params,
      success: okJson(ImportDetails, 'The requested import.'),
    },
    stopImport: {
      method: 'POST',
      path: '/imports/{importId}/stop',
      summary: 'Stop an import',
      description:
        'Stops an import of this instance. Added animals remain. Import the same file again to resume.',
      params,
      // Stopping an import twice has no further effect.
      repeatable: false,
      body: noMembers,
      success: okJson(Import, 'The import. It stops shortly after the response.'),
    },
    previewImport: {
      method: 'POST',
      path: '/pets/import/preview',
      summary: 'Preview an import',
      description:
        'Parses the beginning of a file like an import, without adding animals. Send complete lines, at most 65,536 bytes.',
      repeatable: false,
      query: PreviewQuery,
      upload,
      success: okJson(ImportPreview, 'The first rows.'),
      errors: ['import_invalid'],
    },
    importPets: {
      method: 'POST',
      path: '/pets/import',
      summary: 'Import animals',
      description:
        'Adds the animals of a CSV or NDJSON file, in the format of `animal-store import`. Sending the same file again resumes ' +
        'the import and adds no animal twice. To stop an import, close its connection or call `stopImport`. `listImports` has its ' +
        'progress.',
      // Importing the same file again adds no row twice.
      repeatable: false,
      query: ImportQuery,
      upload,
      success: okJson(ImportReport, 'The outcome.'),
      errors: ['import_invalid'],
    },
  },
);
