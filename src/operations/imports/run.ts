import { type ImportReport, maxRejects } from '../../contract/admin/imports.ts';
import { invalidFile, type RecordReader } from '../files/records.ts';
import { Rows } from '../files/rows.ts';
import type { Spooled } from '../files/spooled.ts';
import type { ImportOperations, ImportProgress, RejectedRow } from './imports.ts';

/**
 * Maximum total length of the rejected lines in a response, in bytes. A single line may be as long as a request body.
 */
const maxRejectBytes = 8_388_608;

const nothing = { added: 0, rejected: 0, finished: false };

interface ImportRunOptions {
  readonly file: Spooled;
  readonly fileName: string | undefined;
  readonly reader: RecordReader;
  readonly signal: AbortSignal;
}

/** The import of an uploaded file. Ends early if the signal is aborted. */
export class ImportRun {
  readonly #imports: ImportOperations;
  readonly #options: ImportRunOptions;
  #rows: Rows | undefined;
  #counts: Omit<ImportProgress, 'lastLine'> = nothing;

  constructor(imports: ImportOperations, options: ImportRunOptions) {
    this.#imports = imports;
    this.#options = options;
  }

  get progress() {
    const { added, rejected } = this.#counts;
    return { bytes: this.#options.file.bytes, bytesRead: this.#rows?.bytesRead ?? 0, added, rejected };
  }

  /** Adds the rows of the file that have not yet been imported. Throws `import_invalid`. */
  async report(): Promise<ImportReport> {
    const { sha256: source, read } = this.#options.file;
    const stored = await this.#imports.find(source);
    if (stored === undefined && (await this.#imports.partsOf(source)).length > 0) {
      throw invalidFile(
        'Part of this file was imported with the command line. Use the command line to import the rest, or all of it again.',
      );
    }
    const rejects = new Rejects(this.#options.reader);
    const rows = new Rows({
      input: { name: 'The file', read },
      reader: this.#options.reader,
      afterLine: stored?.lastLine ?? 0,
      onPassedOver: (row) => rejects.add(row),
      signal: this.#options.signal,
    });
    this.#rows = rows;
    this.#counts = stored ?? nothing;
    // The import is complete, so its rows are read only to report the rejected ones.
    if (stored?.finished) for await (const _ of rows);
    else {
      const task = { source, file: this.#options.fileName, stored, rows, signal: this.#options.signal };
      for await (const { progress, rejected } of this.#imports.add(task)) {
        this.#counts = progress;
        for (const row of rejected) rejects.add(row);
      }
    }
    const { added, rejected, finished } = this.#counts;
    const state = finished ? 'imported' : 'stopped';
    return { state: stored?.finished ? 'already_imported' : state, added, rejected, ...rejects.inReport() };
  }
}

class Rejects {
  readonly #reader: RecordReader;
  readonly #rows: RejectedRow[] = [];
  #bytes = 0;

  constructor(reader: RecordReader) {
    this.#reader = reader;
  }

  add(row: RejectedRow): void {
    this.#bytes += row.bytes.length;
    // Copied, because `row.bytes` is only a view of the chunk that was read.
    if (this.#rows.length < maxRejects && this.#bytes <= maxRejectBytes)
      this.#rows.push({ ...row, bytes: Buffer.from(row.bytes) });
  }

  inReport(): Pick<ImportReport, 'rejects' | 'rejectsFile'> {
    const rejects = this.#rows.map(({ line, reason, bytes }) => ({
      line,
      reason,
      text: replacedText(bytes),
    }));
    const rows = this.#rows.map(({ line, reason, bytes }) =>
      replacedText(this.#reader.rejected(line, reason, bytes)),
    );
    return { rejects, rejectsFile: rows.length === 0 ? '' : this.#reader.rejectsHeader() + rows.join('') };
  }
}

/** Decodes UTF-8. Invalid bytes become replacement characters, because JSON cannot contain them. */
export function replacedText(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}
