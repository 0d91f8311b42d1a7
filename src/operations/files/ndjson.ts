/** NDJSON: one JSON object per line, in UTF-8. */
import { InvalidMemberError, JsonError, parseJson } from '../../contract/json.ts';
import type { Pet } from '../../contract/representations.ts';
import {
  type CheckedPet,
  checkPet,
  decodeText,
  expectText,
  formatReason,
  type InputRecord,
  type Line,
  type ReaderOptions,
  type RecordReader,
  toRecord,
} from './records.ts';

/**
 * Matches the line number and reason at the beginning of a row in a file of rejected rows, even if a tool has
 * reformatted the row.
 */
const rejectPrefix = /^\s*\{\s*"line"\s*:\s*\d+\s*,\s*"reason"\s*:\s*"[^"\\]*(?:\\.[^"\\]*)*"\s*,?/;

const brace = 123;

const byteOrderMark = Buffer.from('\ufeff');

export class NdjsonReader implements RecordReader {
  readonly firstLine = 1;
  readonly columns: readonly string[] = [];
  readonly #newIds: boolean;

  constructor({ newIds }: ReaderOptions = { newIds: false }) {
    this.#newIds = newIds;
  }

  take(line: Line): InputRecord[] {
    if (line.number === 1 && line.bytes[0] !== brace) expectText(line);
    const record = toRecord(line.number === 1 ? removeByteOrderMark(line) : line);
    return record.bytes.length === 0 ? [] : [record];
  }

  end(): InputRecord[] {
    return [];
  }

  check(record: InputRecord): CheckedPet {
    const read = decodeText(record);
    if ('reason' in read) return read;
    try {
      const value = parseJson(read.text.replace(rejectPrefix, '{'));
      return checkPet(this.#newIds ? removeId(value) : value);
    } catch (error) {
      if (error instanceof JsonError) return { reason: `is not valid JSON: ${error.message}` };
      if (error instanceof InvalidMemberError)
        return { reason: formatReason([...error.mistakes].map(([name, message]) => ({ name, message }))) };
      throw error;
    }
  }

  rejectsHeader(): string {
    return '';
  }

  rejected(line: number, reason: string, bytes: Uint8Array): Uint8Array {
    // Latin-1 maps every byte to one character, so all bytes are kept unchanged, even if invalid.
    const row = Buffer.from(bytes).toString('latin1').replace(rejectPrefix, '{');
    const members = row.replace(/^\s*\{/, '');
    const comma = /^\s*\}/.test(members) ? '' : ',';
    return Buffer.concat([
      Buffer.from(`{"line":${line},"reason":${JSON.stringify(reason)}${comma}`),
      Buffer.from(`${members}\n`, 'latin1'),
    ]);
  }
}

/** Programs on Windows begin UTF-8 files with a byte order mark. */
function removeByteOrderMark({ number, bytes }: Line): Line {
  const isMarked = bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark);
  return { number, bytes: isMarked ? bytes.subarray(byteOrderMark.length) : bytes };
}

function removeId(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('id' in value)) return value;
  const { id: _id, ...others } = value;
  return others;
}

/** An animal as a line, without its id, because the importing store assigns a new one. */
export function formatNdjsonRow({ name, categoryId, status }: Pet): string {
  return `{"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}\n`;
}
