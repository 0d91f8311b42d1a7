import { createHash } from 'node:crypto';
import { createReadStream, type Stats } from 'node:fs';
import { stat } from 'node:fs/promises';
import { extname } from 'node:path';
import { type Format, type FormatName, formats } from '../../operations/files/formats.ts';
import { CommandError } from '../terminal.ts';

const chunkBytes = 262_144;

export interface Input {
  readonly name: string;
  /** SHA-256 of the content; undefined for standard input, which can be read only once. */
  readonly source: string | undefined;
  /** Total size; undefined if unknown, for example for a pipe. */
  readonly bytes: number | undefined;
  /** Reads the content. If the signal is aborted, the iteration ends early without an error. */
  read(signal: AbortSignal): AsyncIterable<Buffer>;
}

export function standardInput(): Input {
  return {
    name: 'standard input',
    source: undefined,
    bytes: undefined,
    read: (signal) => untilAborted(process.stdin, signal),
  };
}

/** Opens the file and hashes its content. Throws `CommandError` if it cannot be read. */
export async function fileInput(path: string, signal: AbortSignal): Promise<Input> {
  const size = (await regularFile(path)).size;
  // Data appended during the import is ignored, because the hash does not cover it.
  const open = () => createReadStream(path, { highWaterMark: chunkBytes, end: Math.max(0, size - 1) });
  const hash = createHash('sha256');
  const content = (reading: AbortSignal) => untilAborted(open(), reading);
  if (size > 0) for await (const chunk of content(signal)) hash.update(chunk);
  if (signal.aborted) throw new CommandError('Interrupted before anything was imported.');
  return {
    name: path,
    source: hash.digest('hex'),
    bytes: size,
    read: (reading) => (size > 0 ? content(reading) : nothing()),
  };
}

async function regularFile(path: string): Promise<Stats> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(
      error.code === 'ENOENT' ? `File not found: ${path}` : `Cannot read ${path}: ${error.message}.`,
    );
  });
  if (found.isFile()) return found;
  throw new CommandError(
    `${path} is not a regular file. Read a pipe from standard input: animal-store import - --format csv < ${path}`,
  );
}

async function* untilAborted(stream: NodeJS.ReadableStream, signal: AbortSignal): AsyncGenerator<Buffer> {
  const stop = () => (stream as typeof process.stdin).destroy();
  if (signal.aborted) return;
  signal.addEventListener('abort', stop, { once: true });
  try {
    for await (const chunk of stream) yield chunk as Buffer;
  } catch (error) {
    // An abort destroys the stream, so the pending read fails.
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

async function* nothing(): AsyncGenerator<Buffer> {}

/** Returns the format from the option or the file name. Throws `CommandError` if neither specifies one. */
export function formatOf(file: string, option: FormatName | undefined): Format {
  const name = option ?? extname(file).slice(1).toLowerCase();
  if (name === 'csv' || name === 'ndjson') return formats[name];
  const found =
    file === '-' ? 'Standard input and output have no name' : `"${file}" does not end in .csv or .ndjson`;
  throw new CommandError(`${found}: specify --format csv or --format ndjson.`, 2);
}
