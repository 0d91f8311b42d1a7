import type { ImportReport } from '../../contract/admin/imports.ts';
import { mostRejects } from '../../contract/admin/imports.ts';
import { type Format, formats } from '../files/formats.ts';
import { invalidFile } from '../files/invalid-file.ts';
import { Rows } from '../files/rows.ts';
import { type Spooled, spooled } from '../files/spooled.ts';
import type { ImportOperations, RejectedRow } from '../imports.ts';
import type { HandlersOf } from './handlers.ts';
import type { OperatorServices } from './services.ts';

/** Rejected lines that are answered, in bytes: each may be as long as a request. */
const mostRejectBytes = 8_388_608;

export const importHandlers = {
  importPets: async ({ imports }, { query: { format, newIds }, upload }) => {
    await using file = await spooled(upload);
    // Awaited here: the file goes with this block.
    return await importFile(imports, file, formats[format], newIds === 'true');
  },
} satisfies HandlersOf<OperatorServices, 'importPets'>;

/** Adds the rows of a file that are not in yet. Refuses `import_invalid`. */
async function importFile(
  imports: ImportOperations,
  { sha256: source, read }: Spooled,
  format: Format,
  newIds: boolean,
): Promise<ImportReport> {
  const stored = await imports.find(source);
  if (stored?.finished) {
    const { added, rejected } = stored;
    return { state: 'already_imported', added, rejected, rejects: [] };
  }
  if (stored === undefined && (await imports.partsOf(source)).length > 0) {
    throw invalidFile(
      'A part of this file was imported with the command line. Import the rest of it, or all of it again, there.',
    );
  }
  const rejects = new Rejects();
  const { signal } = new AbortController();
  const rows = new Rows({
    input: { name: 'The file', read },
    reader: format.newReader({ newIds }),
    afterLine: stored?.lastLine ?? 0,
    fits: () => true,
    mustHaveRow: false,
    onPassedOver: (row) => rejects.add(row),
    signal,
  });
  let progress = stored ?? { added: 0, rejected: 0 };
  for await (const group of imports.add({ source, stored, rows, signal })) {
    progress = group.progress;
    for (const row of group.rejected) rejects.add(row);
  }
  const { added, rejected } = progress;
  return { state: 'imported', added, rejected, rejects: rejects.rows };
}

/** The first rejected lines, as many as an answer may have. */
class Rejects {
  readonly rows: ImportReport['rejects'] = [];
  #bytes = 0;

  add({ line, reason, bytes }: RejectedRow): void {
    this.#bytes += bytes.length;
    if (this.rows.length === mostRejects || this.#bytes > mostRejectBytes) return;
    this.rows.push({ line, text: Buffer.from(bytes).toString(), reason });
  }
}
