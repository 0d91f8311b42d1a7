import { type Operation, shown } from '../operation.ts';
import { ImportQuery, ImportReport, RunningImports } from './imports.ts';

export const importOperations = {
  listImports: {
    operationId: 'listImports',
    method: 'GET',
    path: '/imports',
    tag: 'Pets',
    summary: 'List imports under way',
    description:
      'Returns how far the imports are that this instance makes now for operators who sent it a file.',
    stability: 'beta',
    reads: [],
    success: shown(RunningImports, 'The imports under way, in the order in which they began.'),
    errors: [],
  },
  importPets: {
    operationId: 'importPets',
    method: 'POST',
    path: '/pets/import',
    tag: 'Pets',
    summary: 'Import animals',
    description:
      'Adds the animals of a CSV or NDJSON file, in the format of `animal-store import`. The same file again goes on where ' +
      'it broke off, and adds nothing twice. To stop an import, close its connection. `GET /imports` tells how far it is.',
    stability: 'beta',
    // The same file again adds nothing twice.
    repeatable: false,
    query: ImportQuery,
    upload: { types: ['text/csv', 'application/x-ndjson'], description: 'The file.' },
    reads: [],
    success: shown(ImportReport, 'What became of the lines.'),
    errors: ['import_invalid'],
  },
} as const satisfies Readonly<Record<string, Operation>>;
