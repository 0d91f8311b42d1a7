/** Imports started by this tab. They continue while the operator visits other pages. */
import { effect, signal } from '@preact/signals';
import { call, Failure, fetchResponse, requestUrl, toFailure } from './api.ts';
import { markConnectionLost, markConnectionRestored } from './connection.ts';
import type { ResponseOf } from './contract.ts';
import { parseJson } from './json.ts';
import { sessionHeaders } from './session-secret.ts';

export type Import = ResponseOf<'GET /imports'>[number];
export type ImportReport = ResponseOf<'POST /pets/import'>;
export type ImportPreview = ResponseOf<'POST /pets/import/preview'>;

const types = { csv: 'text/csv', ndjson: 'application/x-ndjson' } as const;

export type Format = keyof typeof types;

export function detectFormat({ name }: Pick<File, 'name'>): Format {
  return /\.(?:ndjson|jsonl)$/i.test(name) ? 'ndjson' : 'csv';
}

/** A file that this tab is importing. */
export interface Upload {
  /** Identifies the file in the list of imports. */
  readonly requestId: string;
  readonly file: File;
  /** Fraction of the file that has been sent, from 0 to 1. */
  readonly sent: number;
  readonly stop: () => void;
}

export const uploads = signal<readonly Upload[]>([]);

/** Makes the browser ask before closing the tab during an import, because closing it would stop the import. */
export function watchUploads(): void {
  const ask = (event: Event) => event.preventDefault();
  effect(() => {
    if (uploads.value.length > 0) addEventListener('beforeunload', ask);
    else removeEventListener('beforeunload', ask);
  });
}

interface ImportOptions {
  /** Whether to ignore ids in the file and assign new ones. */
  readonly newIds: boolean;
}

/** Imports a file. Rejects with a `Failure`. */
export async function importFile(file: File, { newIds }: ImportOptions): Promise<ImportReport> {
  const requestId = crypto.randomUUID();
  const request = new XMLHttpRequest();
  const upload: Upload = { requestId, file, sent: 0, stop: () => request.abort() };
  uploads.value = [...uploads.value, upload];
  request.upload.addEventListener('progress', ({ loaded, total }) => {
    const sent = total === 0 ? 1 : loaded / total;
    uploads.value = uploads.value.map((each) => (each.requestId === requestId ? { ...each, sent } : each));
  });
  const format = detectFormat(file);
  request.open('POST', requestUrl('/pets/import', { query: { format, newIds, fileName: file.name } }));
  const headers = { 'Content-Type': types[format], 'X-Request-Id': requestId, ...sessionHeaders() };
  for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
  try {
    return await outcomeOf(request, file);
  } finally {
    uploads.value = uploads.value.filter((each) => each.requestId !== requestId);
  }
}

function outcomeOf(request: XMLHttpRequest, file: File): Promise<ImportReport> {
  return new Promise((resolve, reject) => {
    request.addEventListener('load', () => {
      markConnectionRestored();
      const { status, responseText } = request;
      if (status === 200) resolve(parseJson(responseText) as ImportReport);
      else reject(toFailure(status, request.getResponseHeader('Retry-After'), responseText));
    });
    request.addEventListener('error', () => {
      markConnectionLost();
      reject(new Failure('connection_lost', `The connection was lost. ${resumes}`));
    });
    request.addEventListener('abort', () =>
      reject(new Failure('stopped', `Import stopped. Animals already added were kept. ${resumes}`)),
    );
    request.send(file);
  });
}

const resumes = 'Import the same file again to resume. Nothing is added twice.';

/** Stops an import. If this tab started it, closes the connection, which also stops the upload. */
export async function stopImport({ id, requestId }: Pick<Import, 'id' | 'requestId'>): Promise<void> {
  const own = uploads.peek().find((upload) => upload.requestId === requestId);
  if (own === undefined) await call('POST /imports/{importId}/stop', { params: { importId: id } });
  else own.stop();
}

/** Gets the columns and the first few rows of a file, as an import would parse them. Rejects with a `Failure`. */
export async function fetchPreview(file: File, { newIds }: ImportOptions): Promise<ImportPreview> {
  const format = detectFormat(file);
  const response = await fetchResponse(requestUrl('/pets/import/preview', { query: { format, newIds } }), {
    method: 'POST',
    headers: { 'Content-Type': types[format] },
    body: await headOf(file),
  });
  return parseJson(await response.text()) as ImportPreview;
}

const previewBytes = 65_536;
const previewRows = 10;

/** Returns the beginning of the file, cut after a complete row if possible. */
async function headOf(file: File): Promise<Blob> {
  const start = file.slice(0, previewBytes);
  const lines = new RowCounter(detectFormat(file));
  const bytes = new Uint8Array(await start.arrayBuffer());
  const end = bytes.findIndex((byte) => lines.take(byte) >= previewRows);
  if (end !== -1) return file.slice(0, end + 1);
  return start.size === file.size || lines.lastEnd === 0 ? start : file.slice(0, lines.lastEnd);
}

/** Counts the rows of a file, excluding the header. */
export async function countRows(file: File, signal: AbortSignal): Promise<number> {
  const counter = new RowCounter(detectFormat(file));
  const reader = file.stream().getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done || signal.aborted) break;
    for (const byte of value) counter.take(byte);
  }
  // A line such as "sep=;" before the header of a CSV file is not a row.
  const heads = /^"?sep=/i.test(await file.slice(0, 8).text()) ? 1 : 0;
  return Math.max(counter.end() - heads, 0);
}

/** Counts rows, which are non-empty lines. A line break within CSV quotes does not end a row. */
class RowCounter {
  readonly #isCsv: boolean;
  #rows: number;
  #isQuoted = false;
  #isEmpty = true;
  #offset = 0;
  /** Offset of the end of the last complete row. */
  lastEnd = 0;

  constructor(format: Format) {
    this.#isCsv = format === 'csv';
    this.#rows = this.#isCsv ? -1 : 0;
  }

  /** Reads the next byte, and returns the number of rows so far. */
  take(byte: number): number {
    this.#offset += 1;
    if (byte === 34 && this.#isCsv) this.#isQuoted = !this.#isQuoted;
    if (byte !== 10 || this.#isQuoted) {
      if (byte !== 13) this.#isEmpty = false;
      return this.#rows;
    }
    this.lastEnd = this.#offset;
    return this.end();
  }

  /** Ends the last row, and returns the number of rows. */
  end(): number {
    if (!this.#isEmpty) this.#rows += 1;
    this.#isEmpty = true;
    return Math.max(this.#rows, 0);
  }
}
