import { isUtf8 } from 'node:buffer';
import { ApiError } from '../../contract/api-error.ts';
import { maxBodyBytes } from '../../contract/bounds.ts';
import type { ErrorDetail } from '../../contract/errors.ts';
import { NewPet } from '../../contract/pets.ts';
import { validate } from '../../contract/validation.ts';

/** Maximum length of a row in bytes. The API has the same limit for a request that creates an animal. */
export const maxRowBytes = maxBodyBytes;

const lineFeed = 10;
const carriageReturn = 13;
const emptyBytes = Buffer.alloc(0);

export interface Line {
  readonly number: number;
  /** The line without its line feed. A line longer than `maxRowBytes` is truncated to `maxRowBytes` + 1 bytes. */
  readonly bytes: Buffer;
}

/** Splits a stream of bytes into lines. Keeps at most one line in memory. */
export class LineSplitter {
  #number = 0;
  #rest: Buffer = emptyBytes;

  /** Returns lines one at a time, because a chunk may contain as many lines as bytes. Read all before the next call. */
  *push(chunk: Buffer): Generator<Line> {
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, start)) {
      yield this.#line(start === end ? emptyBytes : chunk.subarray(start, end));
      start = end + 1;
    }
    this.#rest = this.#joined(chunk.subarray(start));
  }

  /** The last line, if the input does not end with a line feed. */
  end(): Line[] {
    return this.#rest.length === 0 ? [] : [this.#line(emptyBytes)];
  }

  #line(end: Buffer): Line {
    const bytes = this.#joined(end);
    this.#rest = emptyBytes;
    this.#number++;
    return { number: this.#number, bytes };
  }

  #joined(end: Buffer): Buffer {
    const room = maxRowBytes + 1 - this.#rest.length;
    const part = end.length > room ? end.subarray(0, room) : end;
    return this.#rest.length === 0 ? part : Buffer.concat([this.#rest, part]);
  }
}

export interface InputRecord {
  readonly line: number;
  readonly endLine: number;
  /** The bytes of the record, without the final line feed. */
  readonly bytes: Buffer;
}

export type CheckedPet = { readonly pet: NewPet } | { readonly reason: string };

export interface ReaderOptions {
  /** Whether rows may contain an id, which is ignored. */
  readonly newIds: boolean;
}

export interface RecordReader {
  /** Adds a line and returns the records that it completes. Throws `import_invalid` if the header is invalid. */
  take(line: Line): InputRecord[];
  /** Returns the remaining records at the end of the input. Throws `import_invalid` if the input is incomplete. */
  end(): InputRecord[];
  check(record: InputRecord): CheckedPet;
  readonly columns: readonly string[];
  /** Number of the first line that can contain a row. */
  readonly firstLine: number;
  /** The header of a file of rejected rows, if the format has one. */
  rejectsHeader(): string;
  rejected(line: number, reason: string, bytes: Uint8Array): Uint8Array;
}

export function invalidFileError(message: string): ApiError {
  return new ApiError('import_invalid', { message });
}

const utf16Marks = ['fffe', 'feff'];

/** Throws `import_invalid` if the first line shows that the lines cannot be read as text in UTF-8. */
export function expectText(firstLine: Line): void {
  const { bytes } = toRecord(firstLine);
  const returnAt = bytes.indexOf(carriageReturn);
  const start = returnAt === -1 ? bytes : bytes.subarray(0, returnAt);
  const refuse = (cause: string, remedy = 'as text in UTF-8'): never => {
    throw invalidFileError(`${cause}: save it ${remedy} (in Excel, as "CSV UTF-8").`);
  };
  if (utf16Marks.includes(bytes.toString('hex', 0, 2))) refuse('The input is in UTF-16');
  // The end of a truncated line may be part of a character.
  const isText = !bytes.includes(0) && (start.length > maxRowBytes || isUtf8(start));
  if (!isText) refuse('The input is not a text file');
  if (returnAt !== -1) refuse('The lines of the input end with carriage returns only', 'with line feeds');
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text of a record, or the reason why the record is rejected. */
export function decodeText({ bytes }: InputRecord): { readonly text: string } | { readonly reason: string } {
  if (bytes.length > maxRowBytes) return { reason: `is longer than ${maxRowBytes} bytes` };
  try {
    return { text: utf8.decode(bytes) };
  } catch {
    return { reason: 'is not valid UTF-8' };
  }
}

export function checkPet(value: unknown): CheckedPet {
  const validated = validate(NewPet, value, 'body');
  return 'value' in validated ? { pet: validated.value } : { reason: formatReason(validated.mistakes) };
}

/** A reason lists mistakes up to this number of characters and counts the others: a single row may have thousands. */
const listedLength = 300;

export function formatReason(mistakes: readonly Pick<ErrorDetail, 'name' | 'message'>[]): string {
  let reason = '';
  for (const [index, mistake] of mistakes.entries()) {
    if (reason.length > listedLength) return `${reason}; and ${mistakes.length - index} more`;
    reason += (index === 0 ? '' : '; ') + formatMistake(mistake);
  }
  return reason;
}

function formatMistake({ name, message }: Pick<ErrorDetail, 'name' | 'message'>): string {
  return name === 'id' ? `id ${idColumnHint}` : `${name} ${message}`.trim();
}

export const idColumnHint = 'is not kept: with --new-ids, the animals get new ones';

/** Converts a line to a record. A carriage return before the line feed is part of the line ending. */
export function toRecord({ number, bytes }: Line): InputRecord {
  const end = bytes.at(-1) === carriageReturn ? -1 : undefined;
  return { line: number, endLine: number, bytes: bytes.subarray(0, end) };
}

export function joinLines(lines: readonly Line[]): InputRecord {
  const parts = lines.flatMap(({ bytes }) => [bytes, Buffer.from('\n')]).slice(0, -1);
  const last = lines.at(-1)?.number ?? 0;
  const record = toRecord({ number: last, bytes: Buffer.concat(parts) });
  return { ...record, line: lines[0]?.number ?? last };
}
