import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { extname } from 'node:path';
import { addAbortSignal, type Readable } from 'node:stream';
import { type Format, type FormatName, formats } from '../../operations/files/formats.ts';
import { readChunks } from '../../operations/files/spooled-file.ts';
import { CommandError } from '../terminal.ts';

export interface Input extends AsyncDisposable {
  readonly name: string;
  /** SHA-256 of the content; undefined for standard input, which can be read only once. */
  readonly source: string | undefined;
  /** Total size; undefined if unknown, for example for a pipe. */
  readonly bytes: number | undefined;
  /**
   * Reads the content. If the signal is aborted, the iteration ends early without an error. Throws `FileChangedError` before
   * it returns any data that `source` does not cover.
   */
  read(signal: AbortSignal): AsyncIterable<Buffer>;
}

export function openStandardInput(): Input {
  return {
    name: 'standard input',
    source: undefined,
    bytes: undefined,
    read: (signal) => untilAborted(process.stdin, signal),
    [Symbol.asyncDispose]: async () => {},
  };
}

/** The content of a file has changed since it was hashed. */
export class FileChangedError extends Error {}

/**
 * Opens the file and hashes its content. The import reads the same open file, even if the path refers to another file
 * by then, and compares each chunk with the hashed content. Throws `CommandError` if the file cannot be read.
 */
export async function openFileInput(path: string, signal: AbortSignal): Promise<Input> {
  await using opened = new AsyncDisposableStack();
  const file = opened.use(await openRegularFile(path));
  // Data appended later is ignored, because the hash does not cover it.
  const { size } = await file.stat();
  const hash = createHash('sha256');
  const digests: string[] = [];
  let bytes = 0;
  for await (const chunk of readChunks(file, size, signal)) {
    hash.update(chunk);
    digests.push(sha256(chunk));
    bytes += chunk.length;
  }
  if (signal.aborted) throw new CommandError('Interrupted before anything was imported.');
  const resources = opened.move();
  return {
    name: path,
    source: hash.digest('hex'),
    bytes,
    async *read(reading) {
      let compared = 0;
      for await (const chunk of readChunks(file, bytes, reading)) {
        if (sha256(chunk) !== digests[compared++]) throw new FileChangedError(path);
        yield chunk;
      }
      if (compared < digests.length && !reading.aborted) throw new FileChangedError(path);
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

function sha256(chunk: Uint8Array): string {
  return Bun.CryptoHasher.hash('sha256', chunk, 'base64');
}

async function openRegularFile(path: string): Promise<FileHandle> {
  // Opening a pipe must not block.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(
    (error: NodeJS.ErrnoException) => {
      throw new CommandError(
        error.code === 'ENOENT' ? `File not found: ${path}` : `Cannot read ${path}: ${error.message}.`,
      );
    },
  );
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new CommandError(
    `${path} is not a regular file. Read a pipe from standard input: animal-store import - --format csv < ${path}`,
  );
}

async function* untilAborted(stream: Readable, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    yield* addAbortSignal(signal, stream);
  } catch (error) {
    // An abort destroys the stream, so the pending read fails.
    if (!signal.aborted) throw error;
  }
}

/** Returns the format from the option or the file name. Throws `CommandError` if neither specifies one. */
export function detectFormat(file: string, option: FormatName | undefined): Format {
  const name = option ?? extname(file).slice(1).toLowerCase();
  if (name === 'csv' || name === 'ndjson') return formats[name];
  const found =
    file === '-' ? 'Standard input and output have no name' : `"${file}" does not end in .csv or .ndjson`;
  throw new CommandError(`${found}: specify --format csv or --format ndjson.`, 2);
}
