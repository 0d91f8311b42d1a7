import { type Operation, shown } from '../operation.ts';
import { ImportQuery, ImportReport } from './imports.ts';

export const importOperations = {
  importPets: {
    operationId: 'importPets',
    method: 'POST',
    path: '/pets/import',
    tag: 'Pets',
    summary: 'Import animals',
    description:
      'Adds the animals of a CSV or NDJSON file, in the format of `animal-store import`. The same file again goes on where ' +
      'it broke off, and adds nothing twice.',
    stability: 'beta',
    query: ImportQuery,
    upload: { types: ['text/csv', 'application/x-ndjson'], description: 'The file.' },
    reads: [],
    success: shown(ImportReport, 'What became of the lines.'),
    errors: ['import_invalid'],
  },
} as const satisfies Readonly<Record<string, Operation>>;
