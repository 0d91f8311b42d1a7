/** Sends a file, and tells how far it is: `fetch` cannot. */
import { addressOf, call, Failure, failureOf } from './api.ts';
import { connectionHealed, connectionLost } from './connection.ts';
import type { AnswerOf } from './contract.ts';
import { parseJson } from './json.ts';
import { sessionHeaders } from './session-secret.ts';

export type ImportReport = AnswerOf<'POST /pets/import'>;

const types = { csv: 'text/csv', ndjson: 'application/x-ndjson' } as const;

export type Format = keyof typeof types;

export function formatOf({ name }: File): Format {
  return /\.(?:ndjson|jsonl)$/i.test(name) ? 'ndjson' : 'csv';
}

/** How far an import is: the file is sent first, then its animals are added. */
export interface ImportProgress {
  /** How much of the file is sent, or dealt with, from 0 to 1. */
  readonly part: number;
  /** Animals added so far; undefined while the file is being sent. */
  readonly added: number | undefined;
}

export interface ImportOptions {
  /** Whether the animals of a file that has ids get new ones. */
  readonly newIds: boolean;
  readonly onProgress: (progress: ImportProgress) => void;
  /** Stops the import: what is added stays. */
  readonly signal: AbortSignal;
}

const askEveryMs = 300;

/** Rejects with a `Failure`. */
export async function importFile(file: File, options: ImportOptions): Promise<ImportReport> {
  const id = crypto.randomUUID();
  const isOver = new AbortController();
  const onSent = () => void follow(id, options.onProgress, isOver.signal);
  try {
    return await sendFile(id, file, options, onSent);
  } finally {
    isOver.abort();
  }
}

/** Tells how far the service is with the import of this request, until that is over. */
async function follow(id: string, onProgress: ImportOptions['onProgress'], over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const running = await call('GET /imports').catch(() => []);
    const found = running.find((one) => one.id === id);
    if (found !== undefined && !over.aborted)
      onProgress({ part: found.bytes === 0 ? 1 : found.bytesRead / found.bytes, added: found.added });
    await new Promise((resolve) => setTimeout(resolve, askEveryMs));
  }
}

function sendFile(
  id: string,
  file: File,
  { newIds, onProgress, signal }: ImportOptions,
  onSent: () => void,
): Promise<ImportReport> {
  const format = formatOf(file);
  const request = new XMLHttpRequest();
  return new Promise((resolve, reject) => {
    request.upload.addEventListener('progress', ({ loaded, total }) =>
      onProgress({ part: total === 0 ? 1 : loaded / total, added: undefined }),
    );
    request.upload.addEventListener('load', onSent);
    request.addEventListener('load', () => {
      connectionHealed();
      const { status, responseText } = request;
      if (status === 200) resolve(parseJson(responseText) as ImportReport);
      else reject(failureOf(status, request.getResponseHeader('Retry-After'), responseText));
    });
    request.addEventListener('error', () => {
      connectionLost();
      reject(new Failure('connection_lost', `The service went away. ${goesOn}`));
    });
    request.addEventListener('abort', () =>
      reject(new Failure('stopped', `The import was stopped. What was added stays. ${goesOn}`)),
    );
    signal.addEventListener('abort', () => request.abort());
    request.open('POST', addressOf('/pets/import', { query: { format, newIds } }));
    request.setRequestHeader('Content-Type', types[format]);
    request.setRequestHeader('X-Request-Id', id);
    for (const [name, value] of Object.entries(sessionHeaders())) request.setRequestHeader(name, value);
    request.send(file);
  });
}

const goesOn = 'Drop the same file again: the import goes on where it broke off, and adds nothing twice.';
