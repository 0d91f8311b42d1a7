import type { NewPet } from '../../contract/pets.ts';
import { escapeUnprintable } from '../../domain/escape-unprintable.ts';
import { Pacer } from '../../domain/pacer.ts';
import type { ImportRow, RejectedRow } from '../imports/imports.ts';
import { type InputRecord, invalidFileError, type Line, LineSplitter, type RecordReader } from './records.ts';

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
  readonly pacer?: Pacer;
}

/** The validated rows of an input. Keeps the rows of at most one time slice in memory. */
export class Rows {
  readonly #options: RowsOptions;
  readonly #pacer: Pacer;
  #lastLine = 0;
  #hasRow = false;
  bytesRead = 0;
  skipped = 0;

  constructor(options: RowsOptions) {
    this.#options = options;
    this.#pacer = options.pacer ?? new Pacer();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly ImportRow[]> {
    const { input, reader, signal, afterLine = 0, mustHaveRow } = this.#options;
    const splitter = new LineSplitter();
    for await (const chunk of input.read(signal)) {
      this.bytesRead += chunk.length;
      yield* this.#paced(this.#recordsIn(splitter.push(chunk)));
      // If the input was interrupted, the last line may be incomplete, so it is ignored.
      if (signal.aborted) return;
    }
    if (signal.aborted) return;
    yield* this.#paced(this.#recordsIn(splitter.end()));
    yield* this.#paced(reader.end());
    if (mustHaveRow && !this.#hasRow) {
      throw invalidFileError(
        `No rows at or after line ${afterLine + 1}: ${input.name} has ${this.#lastLine} ${this.#lastLine === 1 ? 'line' : 'lines'}. Nothing was imported.`,
      );
    }
  }

  /** Yields the rows of each time slice. Ends early if the signal is aborted. */
  async *#paced(records: Iterable<InputRecord | undefined>): AsyncGenerator<readonly ImportRow[]> {
    let rows: ImportRow[] = [];
    for (const record of records) {
      const row = record && this.#rowOf(record);
      if (row !== undefined) rows.push(row);
      if (!this.#pacer.isDue) continue;
      yield rows;
      rows = [];
      await this.#pacer.pause();
      if (this.#options.signal.aborted) return;
    }
    yield rows;
  }

  /**
   * Yields the records of each line, then undefined, so that the caller regains control after every line even if millions
   * of lines contain no record.
   */
  *#recordsIn(lines: Iterable<Line>): Generator<InputRecord | undefined> {
    for (const line of lines) {
      this.#lastLine = line.number;
      yield* this.#options.reader.take(line);
      yield undefined;
    }
  }

  #rowOf(record: InputRecord): ImportRow | undefined {
    const { afterLine = 0, onPassedOver, reader, fits } = this.#options;
    const isPassedOver = record.line <= afterLine;
    this.#hasRow ||= !isPassedOver;
    if (isPassedOver && onPassedOver === undefined) return undefined;
    const { line, endLine, bytes } = record;
    const checked = reader.check(record);
    if ('pet' in checked) {
      if (isPassedOver) return undefined;
      if (fits === undefined || fits(checked.pet)) return { line, endLine, pet: checked.pet };
      this.skipped++;
      return undefined;
    }
    // Copied, because a view would keep the whole chunk in memory.
    const row = {
      line,
      endLine,
      reason: truncateReason(escapeUnprintable(checked.reason)),
      bytes: Buffer.from(bytes),
    };
    if (!isPassedOver) return row;
    onPassedOver?.(row);
    return undefined;
  }
}

function truncateReason(reason: string): string {
  if (reason.length <= maxReasonLength) return reason;
  // Encoded and decoded, because a slice of a string keeps the whole string in memory.
  return `${Buffer.from(reason.slice(0, maxReasonLength)).toString()}…`;
}
