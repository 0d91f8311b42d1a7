import * as z from 'zod';
import { defineOperations, okJson } from '../operation.ts';
import { petTag } from '../pets.ts';
import { count, emptyBody, enumSchema, instant, objectSchema, text } from '../values.ts';
import { id, idParameter } from './values.ts';

export const importFormats = ['csv', 'ndjson'] as const;

const PreviewQuery = z.strictObject({
  format: enumSchema(importFormats).default('csv').describe('Format of the file.'),
  newIds: enumSchema(['true', 'false'])
    .default('false')
    .describe(
      'Whether to accept a file that contains ids. The ids are ignored, and the animals get new ones.',
    ),
});

const ImportQuery = PreviewQuery.extend({
  fileName: text('Name of the file, shown in the list of imports.', 'animals.csv').optional(),
});

export const maxRejects = 10_000;

const importOutcomes = ['imported', 'already_imported', 'stopped'] as const;

const importStates = ['receiving', 'running', ...importOutcomes, 'failed'] as const;

export const ImportReport = objectSchema('ImportReport', 'Report of an import.', {
  state: z
    .enum(importOutcomes)
    .describe(
      'Outcome of the import. `already_imported` means that the file was imported before, and nothing was added.',
    ),
  added: count.describe(
    'Number of animals added from the file, including those added by earlier, interrupted imports of this file.',
  ),
  rejected: count.describe(
    'Number of lines rejected, including those rejected by earlier imports of this file.',
  ),
  rejects: z
    .array(
      z.object({
        line: count.describe('Line number, starting at 1.'),
        text: z.string().describe('The line.'),
        reason: z.string().describe('Reason for the rejection.'),
      }),
    )
    .max(maxRejects)
    .describe('The first 10,000 rejected lines, or fewer if the lines are long.'),
  rejectsFile: z
    .string()
    .describe(
      'The same lines, as a file that can be corrected and imported, in the format of the uploaded file. Each row begins with the line ' +
        'number and the reason. Empty if no lines were rejected.',
    ),
});

const ImportId = idParameter('ID of the import.');

export const Import = objectSchema('Import', 'An import of a file.', {
  id: id('ID of the import.'),
  requestId: z.string().describe('`X-Request-Id` of the import request.'),
  actor: z.string().describe('The operator, as shown in the audit log.'),
  fileName: z.string().nullable().describe('Name of the file; null if no name was sent.'),
  format: z.enum(importFormats).describe('Format of the file.'),
  state: z
    .enum(importStates)
    .describe('`receiving` until the file has arrived, then `running`, and finally the outcome or `failed`.'),
  startedAt: instant('Time when the request began (UTC).'),
  endedAt: instant('Time when the import ended (UTC); null until then.').nullable(),
  bytes: count.describe('Size of the file in bytes, or the number of bytes received so far.'),
  bytesRead: count.describe('Number of bytes processed so far.'),
  added: count.describe(
    'Number of animals added so far, including those added by earlier imports of this file.',
  ),
  rejected: count.describe(
    'Number of lines rejected so far, including those rejected by earlier imports of this file.',
  ),
  error: z.string().nullable().describe('Reason for the failure; null if the import has not failed.'),
});

const Imports = z.array(Import).meta({
  id: 'Imports',
  description: 'Imports on this instance: imports in progress and the latest finished imports.',
});

const ImportDetails = Import.extend({
  report: ImportReport.nullable().describe(
    'The report; null while the import is in progress, if it failed, or if the report is no longer available.',
  ),
}).meta({ id: 'ImportDetails', description: 'An import of a file, with its report.' });

export const ImportPreview = objectSchema('ImportPreview', 'The first few rows of a file.', {
  columns: z.array(z.string()).describe('The columns of a CSV file in order. Empty for NDJSON.'),
  rows: z
    .array(
      z.object({
        line: count.describe('Line number, starting at 1.'),
        name: z.string().nullable().describe('Name of the animal; null for a rejected line.'),
        categoryId: z
          .string()
          .nullable()
          .describe('Category of the animal, in decimal digits; null for a rejected line.'),
        status: z.string().nullable().describe('Status of the animal; null for a rejected line.'),
        reason: z.string().nullable().describe('Reason for the rejection; null for a valid line.'),
        text: z.string().nullable().describe('The rejected line; null for a valid line.'),
      }),
    )
    .describe('The rows as an import would read them.'),
});

export type Import = z.infer<typeof Import>;
export type ImportPreview = z.infer<typeof ImportPreview>;
export type ImportReport = z.infer<typeof ImportReport>;

const params = { importId: { schema: ImportId, otherwise: 'import_not_found' } } as const;
const upload = { types: ['text/csv', 'application/x-ndjson'], description: 'The file.' } as const;

export const importOperations = defineOperations(
  { tag: petTag },
  {
    listImports: {
      route: 'GET /imports',
      summary: 'List imports',
      description:
        'Returns the imports on this instance: all imports in progress and the latest 20 finished imports. The list is kept ' +
        'until the service stops.',
      success: okJson(Imports, 'The imports, latest first.'),
    },
    getImport: {
      route: 'GET /imports/{importId}',
      summary: 'Get an import',
      description: 'Returns an import on this instance, with its rejected lines once it has ended.',
      params,
      success: okJson(ImportDetails, 'The requested import.'),
    },
    stopImport: {
      route: 'POST /imports/{importId}/stop',
      summary: 'Stop an import',
      description:
        'Stops an import on this instance. Animals already added remain. Import the same file again to resume.',
      params,
      // Stopping an import a second time has no effect.
      repeatable: false,
      body: emptyBody,
      success: okJson(Import, 'The import, which stops shortly after this response.'),
    },
    previewImport: {
      route: 'POST /pets/import/preview',
      summary: 'Preview an import',
      description:
        'Parses the beginning of a file like an import, without adding animals. Send complete lines, at most 65,536 bytes.',
      repeatable: false,
      query: PreviewQuery,
      upload,
      success: okJson(ImportPreview, 'The first few rows.'),
      errors: ['import_invalid'],
    },
    importPets: {
      route: 'POST /pets/import',
      summary: 'Import animals',
      description:
        'Adds the animals from a CSV or NDJSON file in the format of `animal-store import`. Sending the same file again resumes ' +
        'the import and adds no duplicates. To stop an import, close its connection or call `stopImport`. `listImports` shows the ' +
        'progress.',
      // Importing the same file again adds no duplicate rows.
      repeatable: false,
      query: ImportQuery,
      upload,
      success: okJson(ImportReport, 'The outcome.'),
      errors: ['import_invalid'],
    },
  },
);
