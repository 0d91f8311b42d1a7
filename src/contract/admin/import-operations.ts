import { type Operation, shown } from '../operation.ts';
import { NoMembers } from '../orders.ts';
import {
  Import,
  ImportDetails,
  ImportId,
  ImportPreview,
  ImportQuery,
  ImportReport,
  Imports,
  PreviewQuery,
} from './imports.ts';

const params = { importId: { schema: ImportId, otherwise: 'import_not_found' } } as const;
const upload = { types: ['text/csv', 'application/x-ndjson'], description: 'The file.' } as const;

export const importOperations = {
  listImports: {
    operationId: 'listImports',
    method: 'GET',
    path: '/imports',
    tag: 'Pets',
    summary: 'List imports',
    description:
      'Returns the imports of files that operators sent to this instance: those in progress and the latest 20 that have ended, ' +
      'until the service stops.',
    stability: 'beta',
    reads: [],
    success: shown(Imports, 'The imports, latest first.'),
    errors: [],
  },
  getImport: {
    operationId: 'getImport',
    method: 'GET',
    path: '/imports/{importId}',
    tag: 'Pets',
    summary: 'Get an import',
    description: 'Returns an import of this instance, with its rejected lines once it has ended.',
    stability: 'beta',
    params,
    reads: [],
    success: shown(ImportDetails, 'The requested import.'),
    errors: ['import_not_found'],
  },
  stopImport: {
    operationId: 'stopImport',
    method: 'POST',
    path: '/imports/{importId}/stop',
    tag: 'Pets',
    summary: 'Stop an import',
    description:
      'Stops an import of this instance. Animals that were added stay. The same file again resumes where it stopped.',
    stability: 'beta',
    params,
    // Stopping twice is the same.
    repeatable: false,
    body: { schema: NoMembers, optional: true },
    reads: [],
    success: shown(Import, 'The import. It ends within moments.'),
    errors: ['import_not_found'],
  },
  previewImport: {
    operationId: 'previewImport',
    method: 'POST',
    path: '/pets/import/preview',
    tag: 'Pets',
    summary: 'Preview an import',
    description:
      'Reads the beginning of a file as an import would, and adds nothing. Send whole lines, at most 65,536 bytes.',
    stability: 'beta',
    repeatable: false,
    query: PreviewQuery,
    upload,
    reads: [],
    success: shown(ImportPreview, 'The first rows.'),
    errors: ['import_invalid'],
  },
  importPets: {
    operationId: 'importPets',
    method: 'POST',
    path: '/pets/import',
    tag: 'Pets',
    summary: 'Import animals',
    description:
      'Adds the animals of a CSV or NDJSON file, in the format of `animal-store import`. The same file again resumes where ' +
      'it stopped, and adds nothing twice. To stop an import, close its connection or call `stopImport`. `listImports` has its ' +
      'progress.',
    stability: 'beta',
    // The same file again adds nothing twice.
    repeatable: false,
    query: ImportQuery,
    upload,
    reads: [],
    success: shown(ImportReport, 'The outcome.'),
    errors: ['import_invalid'],
  },
} as const satisfies Readonly<Record<string, Operation>>;
