import type { NewPet } from '../../contract/pets.ts';
import { printable } from '../../domain/printable.ts';
import type { ImportRow, RejectedRow } from '../imports/imports.ts';
import { type Line, LineSplitter } from './lines.ts';
import { type InputRecord, invalidFile, type RecordReader } from './records.ts';

/** Maximum length of a reason, in characters. A reason may quote the input. */
const maxReasonLength = 500;

interface RowsInput {
  readonly name: string;
  /** Stops early, without an error, when the signal is aborted. */
  read(signal: AbortSignal): AsyncIterable<Buffer>;
}

interface RowsOptions {
  readonly input: RowsInput;
  readonly reader: RecordReader;
  /** Rows up to this line are skipped. */
  readonly afterLine?: number;
  readonly fits?: (pet: NewPet) => boolean;
  /** Whether to throw an error if the input has no rows after `afterLine`. */
  readonly mustHaveRow?: boolean;
  readonly onPassedOver?: ((row: RejectedRow) => void) | undefined;
  readonly signal: AbortSignal;
}

/** The validated rows of an input. Keeps the rows of at most one chunk in memory. */
export class Rows {
  readonly #options: RowsOptions;
  #lastLine = 0;
  #hasRow = false;
  bytesRead = 0;
  skipped = 0;

  constructor(options: RowsOptions) {
    this.#options = options;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ImportRow[]> {
    const { input, reader, signal, afterLine = 0, mustHaveRow } = this.#options;
    const splitter = new LineSplitter();
    for await (const chunk of input.read(signal)) {
      this.bytesRead += chunk.length;
      yield this.#rowsOf(splitter.push(chunk));
      // If the input was interrupted, the last line may be incomplete, so it is ignored.
      if (signal.aborted) return;
    }
    if (signal.aborted) return;
    yield this.#rowsOf(splitter.end());
    yield reader.end().flatMap((record) => this.#rowOf(record));
    if (mustHaveRow && !this.#hasRow) {
      throw invalidFile(
        `No rows at or after line ${afterLine + 1}: ${input.name} has ${this.#lastLine} ${this.#lastLine === 1 ? 'line' : 'lines'}. Nothing was imported.`,
      );
    }
  }

  #rowsOf(lines: readonly Line[]): ImportRow[] {
    this.#lastLine = lines.at(-1)?.number ?? this.#lastLine;
    return lines.flatMap((line) => this.#options.reader.take(line)).flatMap((record) => this.#rowOf(record));
  }

  #rowOf(record: InputRecord): ImportRow[] {
    const { afterLine = 0, onPassedOver, reader, fits } = this.#options;
    const isPassedOver = record.line <= afterLine;
    this.#hasRow ||= !isPassedOver;
    if (isPassedOver && onPassedOver === undefined) return [];
    const { line, endLine, bytes } = record;
    const checked = reader.check(record);
    if ('pet' in checked) {
      if (isPassedOver) return [];
      if (fits === undefined || fits(checked.pet)) return [{ line, endLine, pet: checked.pet }];
      this.skipped++;
      return [];
    }
    const row = { line, endLine, reason: cut(printable(checked.reason)), bytes };
    if (!isPassedOver) return [row];
    onPassedOver?.(row);
    return [];
  }
}

function cut(reason: string): string {
  return reason.length > maxReasonLength ? `${reason.slice(0, maxReasonLength)}…` : reason;
}
