import {
  type ImportPreview,
  type ImportReport,
  type importOperations,
  maxRejects,
} from '../../contract/admin/imports.ts';
import { ApiError } from '../../contract/api-error.ts';
import { maxPreviewBytes } from '../../contract/bounds.ts';
import type { ErrorCode } from '../../contract/errors.ts';
import { formatActor } from '../../domain/actor.ts';
import type { HandlersOf } from '../admin/handlers.ts';
import { type Format, formats } from '../files/formats.ts';
import { invalidFileError, type RecordReader } from '../files/records.ts';
import { Rows } from '../files/rows.ts';
import { type SpooledFile, spoolToFile } from '../files/spooled-file.ts';
import type { ImportOperations, ImportProgress, RejectedRow } from './imports.ts';
import type { ImportList, ListedImport } from './list.ts';

interface Services {
  readonly imports: ImportOperations;
  readonly importList: ImportList;
  /** The folder in which uploaded files are stored during an import. */
  readonly uploadFolder: string;
}

export const importHandlers = {
  listImports: ({ importList }) => importList.list(),
  getImport: ({ importList }, { params }) => {
    const { view, report } = importList.find(params.importId);
    return { ...view, report };
  },
  stopImport: ({ importList }, { params }) => {
    const listed = importList.find(params.importId);
    listed.stop();
    return listed.view;
  },
  previewImport: (_services, { query: { format, newIds }, upload }, { signal }) =>
    createPreview(formats[format], newIds === 'true', upload, signal),
  importPets: async (
    { imports, importList, uploadFolder },
    { query, upload },
    { requestId, actor, signal, confirm },
  ) => {
    const { fileName = null, format, newIds } = query;
    const listed = importList.begin({ requestId, actor: formatActor(actor), fileName, format });
    const stopped = AbortSignal.any([signal, listed.stopped]);
    try {
      await using file = await spoolToFile(countReceived(upload, listed), uploadFolder);
      const reader = formats[format].newReader({ newIds: newIds === 'true' });
      const run = new ImportRun(imports, {
        ...{ file, fileName: query.fileName, reader, signal: stopped, confirm },
      });
      listed.run(() => run.progress);
      // Awaited here, because the file is deleted at the end of this block.
      const report = await run.report();
      listed.end(report);
      return report;
    } catch (error) {
      listed.fail(error, stopped.aborted);
      throw error;
    } finally {
      importList.prune();
    }
  },
} satisfies HandlersOf<Services, typeof importOperations>;

async function* countReceived(
  upload: AsyncIterable<Uint8Array>,
  listed: ListedImport,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of upload) {
    if (listed.stopped.aborted) {
      throw new ApiError('import_invalid', {
        message: 'The import was stopped before the whole file was received.',
      });
    }
    listed.bytesReceived += chunk.length;
    yield chunk;
  }
}

/**
 * Maximum total length of the rejected lines in a response, in bytes. The response contains them twice and is encoded
 * in one event-loop tick.
 */
const maxRejectBytes = 1_048_576;

const nothing = { added: 0, rejected: 0, finished: false };

interface ImportRunOptions {
  readonly file: SpooledFile;
  readonly fileName: string | undefined;
  readonly reader: RecordReader;
  readonly signal: AbortSignal;
  /** Checks the operator again. Throws if the operator has been revoked or signed out. */
  readonly confirm: () => Promise<unknown>;
}

/** The import of an uploaded file. Ends early if the signal is aborted. */
class ImportRun {
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
    if (stored === undefined && (await this.#imports.findParts(source)).length > 0) {
      throw invalidFileError(
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
      const refused = new AbortController();
      const signal = AbortSignal.any([this.#options.signal, refused.signal]);
      const task = {
        ...{ source, file: this.#options.fileName, stored, signal },
        rows: this.#confirmed(rows, refused),
      };
      try {
        for await (const { progress, rejected } of this.#imports.add(task)) {
          this.#counts = progress;
          for (const row of rejected) rejects.add(row);
        }
        if (refused.signal.aborted) throw refused.signal.reason;
      } catch (error) {
        throw interruptedError(error, this.#counts.added);
      }
    }
    const { added, rejected, finished } = this.#counts;
    const state = finished ? 'imported' : 'stopped';
    return { state: stored?.finished ? 'already_imported' : state, added, rejected, ...rejects.inReport() };
  }

  /**
   * The rows, until the operator is refused: an import may take minutes, during which the operator may be revoked. Aborts
   * `refused` with the error instead of throwing it, so that the audit log records the end of the import.
   */
  async *#confirmed<Chunk>(rows: AsyncIterable<Chunk>, refused: AbortController): AsyncGenerator<Chunk> {
    for await (const chunk of rows) {
      try {
        await this.#options.confirm();
      } catch (error) {
        return refused.abort(error);
      }
      yield chunk;
    }
  }
}

/** Why an import that has already stored animals ends early. The usual messages say that nothing was changed. */
const reasons: Partial<Record<ErrorCode, string>> = {
  service_unavailable: 'The store became unavailable.',
  sign_in_required: 'The session ended.',
  sign_in_failed: 'The token is no longer valid.',
  role_insufficient: 'The role of the operator was changed.',
};

/** The error of an import that has stored `added` animals of its file. */
function interruptedError(error: unknown, added: number): unknown {
  if (!(error instanceof ApiError) || added === 0) return error;
  const reason = reasons[error.code];
  if (reason === undefined) return error;
  const message = `${reason} At least ${added} animals of this file were added. To add the rest, import the same file again without changes.`;
  return new ApiError(error.code, { message, cause: error.cause });
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
    this.#rejects.push({ line, reason, text: decodeLossy(bytes) });
    this.#fileRows.push(decodeLossy(this.#reader.rejected(line, reason, bytes)));
  }

  inReport(): Pick<ImportReport, 'rejects' | 'rejectsFile'> {
    const header = this.#rejects.length === 0 ? '' : this.#reader.rejectsHeader();
    return { rejects: this.#rejects, rejectsFile: header + this.#fileRows.join('') };
  }
}

/** Decodes UTF-8. Invalid bytes become replacement characters, because JSON cannot contain them. */
function decodeLossy(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}

/** More rows than fit on a page. Short lines would otherwise result in a response of 5 MB. */
const maxRows = 1_000;

/** The first rows of a file, parsed as they would be in an import. Throws `import_invalid` and `body_too_large`. */
async function createPreview(
  format: Format,
  newIds: boolean,
  upload: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<ImportPreview> {
  const bytes = await readBytes(upload);
  async function* read() {
    yield bytes;
  }
  const reader = format.newReader({ newIds });
  const rows: ImportPreview['rows'] = [];
  for await (const batch of new Rows({ input: { name: 'The file', read }, reader, signal })) {
    if (rows.length >= maxRows) break;
    for (const row of batch.slice(0, maxRows - rows.length)) {
      if ('pet' in row) {
        const { name, categoryId, status } = row.pet;
        rows.push({ line: row.line, name, categoryId: String(categoryId), status, reason: null, text: null });
      } else {
        const text = decodeLossy(row.bytes);
        rows.push({ line: row.line, name: null, categoryId: null, status: null, reason: row.reason, text });
      }
    }
  }
  return { columns: [...reader.columns], rows };
}

async function readBytes(upload: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of upload) {
    length += chunk.length;
    if (length > maxPreviewBytes) {
      const message = `A preview reads at most ${maxPreviewBytes} bytes. Send the beginning of the file.`;
      throw new ApiError('body_too_large', { message });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
