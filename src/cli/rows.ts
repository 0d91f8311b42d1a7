import type { ImportRow, RejectedRow } from '../operations/imports.ts';
import type { Input } from './input.ts';
import { type Line, LineSplitter } from './lines.ts';
import type { InputRecord, RecordReader } from './records.ts';

/** Longest reason that is given, in characters; it may quote what stands in the input. */
const longestReason = 500;

export interface RowsOptions {
  readonly input: Input;
  readonly reader: RecordReader;
  /** Rows that begin on this line or before it are passed over. */
  readonly afterLine: number;
  /** Takes the rejected ones of the rows passed over; undefined when nobody asks for them. */
  readonly onPassedOver: ((row: RejectedRow) => void) | undefined;
  readonly signal: AbortSignal;
}

/** The rows of an input, read and checked; it holds no more of them than one chunk of the input brings. */
export class Rows {
  readonly #options: RowsOptions;
  /** How much of the input has been read. */
  bytesRead = 0;

  constructor(options: RowsOptions) {
    this.#options = options;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ImportRow[]> {
    const { input, reader, signal } = this.#options;
    const splitter = new LineSplitter();
    for await (const chunk of input.read(signal)) {
      this.bytesRead += chunk.length;
      yield this.#rowsOf(splitter.push(chunk));
      // What is half read when the import is interrupted is no row.
      if (signal.aborted) return;
    }
    if (signal.aborted) return;
    yield this.#rowsOf(splitter.end());
    yield reader.end().flatMap((record) => this.#rowOf(record));
  }

  #rowsOf(lines: readonly Line[]): ImportRow[] {
    return lines.flatMap((line) => this.#options.reader.take(line)).flatMap((record) => this.#rowOf(record));
  }

  #rowOf(record: InputRecord): ImportRow[] {
    const { afterLine, onPassedOver, reader } = this.#options;
    const isPassedOver = record.line <= afterLine;
    if (isPassedOver && onPassedOver === undefined) return [];
    const { line, endLine, bytes } = record;
    const checked = reader.check(record);
    if ('pet' in checked) return isPassedOver ? [] : [{ line, endLine, pet: checked.pet }];
    const row = { line, endLine, reason: printable(checked.reason), bytes };
    if (!isPassedOver) return [row];
    onPassedOver?.(row);
    return [];
  }
}

/** What the input says must not reach a terminal as control characters. */
function printable(reason: string): string {
  const escaped = reason.replace(/[\p{Cc}\p{Cs}\u2028\u2029]/gu, (character) => {
    const code = character.charCodeAt(0).toString(16).padStart(4, '0');
    return `\\u${code}`;
  });
  return escaped.length > longestReason ? `${escaped.slice(0, longestReason)}…` : escaped;
}
