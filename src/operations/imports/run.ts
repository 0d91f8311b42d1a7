import { type ImportReport, maxRejects } from '../../contract/admin/imports.ts';
import { invalidFile, type RecordReader } from '../files/records.ts';
import { Rows } from '../files/rows.ts';
import type { Spooled } from '../files/spooled.ts';
import type { ImportOperations, ImportProgress, RejectedRow } from './imports.ts';

/**
 * Maximum total length of the rejected lines in a response, in bytes. The response contains them twice and is encoded
 * in one event-loop tick.
 */
const maxRejectBytes = 1_048_576;

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
  readonly #rejects: ImportReport['rejects'] = [];
  readonly #fileRows: string[] = [];
  #bytes = 0;

  constructor(reader: RecordReader) {
    this.#reader = reader;
  }

  add({ line, reason, bytes }: RejectedRow): void {
    this.#bytes += bytes.length;
    if (this.#rejects.length >= maxRejects || this.#bytes > maxRejectBytes) return;
    this.#rejects.push({ line, reason, text: replacedText(bytes) });
    this.#fileRows.push(replacedText(this.#reader.rejected(line, reason, bytes)));
  }

  inReport(): Pick<ImportReport, 'rejects' | 'rejectsFile'> {
    const header = this.#rejects.length === 0 ? '' : this.#reader.rejectsHeader();
    return { rejects: this.#rejects, rejectsFile: header + this.#fileRows.join('') };
  }
}

/** Decodes UTF-8. Invalid bytes become replacement characters, because JSON cannot contain them. */
export function replacedText(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}
