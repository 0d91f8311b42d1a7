/** Sends a file, and tells how far it is: `fetch` cannot. */
import { addressOf, Failure, failureOf } from './api.ts';
import { connectionHealed, connectionLost } from './connection.ts';
import type { AnswerOf } from './contract.ts';
import { parseJson } from './json.ts';

export type ImportReport = AnswerOf<'POST /pets/import'>;

const types = { csv: 'text/csv', ndjson: 'application/x-ndjson' } as const;

export type Format = keyof typeof types;

export function formatOf({ name }: File): Format {
  return /\.(?:ndjson|jsonl)$/i.test(name) ? 'ndjson' : 'csv';
}

export interface ImportOptions {
  /** Whether the animals of a file that has ids get new ones. */
  readonly newIds: boolean;
  /** Gets the part that is sent, from 0 to 1. */
  readonly onProgress: (part: number) => void;
  readonly signal: AbortSignal;
}

/** Rejects with a `Failure`. */
export function importFile(file: File, { newIds, onProgress, signal }: ImportOptions): Promise<ImportReport> {
  const format = formatOf(file);
  const request = new XMLHttpRequest();
  return new Promise((resolve, reject) => {
    request.upload.addEventListener('progress', ({ loaded, total }) =>
      onProgress(total === 0 ? 1 : loaded / total),
    );
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
      reject(new Failure('stopped', `The import was stopped. ${goesOn}`)),
    );
    signal.addEventListener('abort', () => request.abort());
    request.open('POST', addressOf('/pets/import', { query: { format, newIds } }));
    request.setRequestHeader('Content-Type', types[format]);
    request.send(file);
  });
}

const goesOn = 'Drop the same file again: the import goes on where it broke off, and adds nothing twice.';
