import { maxBodyBytes } from '../../contract/bounds.ts';

/** Maximum length of a row in bytes. The API has the same limit for a request that creates an animal. */
export const maxRowBytes = maxBodyBytes;

const lineFeed = 10;
const none = Buffer.alloc(0);

export interface Line {
  readonly number: number;
  /** The line without its line feed. A line longer than `maxRowBytes` is truncated to `maxRowBytes` + 1 bytes. */
  readonly bytes: Buffer;
}

/** Splits a stream of bytes into lines. Keeps at most one line in memory. */
export class LineSplitter {
  #number = 0;
  #rest: Buffer = none;

  /** Returns lines one at a time, because a chunk may contain as many lines as bytes. Read all before the next call. */
  *push(chunk: Buffer): Generator<Line> {
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, start)) {
      yield this.#line(start === end ? none : chunk.subarray(start, end));
      start = end + 1;
    }
    this.#rest = this.#joined(chunk.subarray(start));
  }

  /** The last line, if the input does not end with a line feed. */
  end(): Line[] {
    return this.#rest.length === 0 ? [] : [this.#line(none)];
  }

  #line(end: Buffer): Line {
    const bytes = this.#joined(end);
    this.#rest = none;
    this.#number++;
    return { number: this.#number, bytes };
  }

  #joined(end: Buffer): Buffer {
    const room = maxRowBytes + 1 - this.#rest.length;
    const kept = end.length > room ? end.subarray(0, room) : end;
    return this.#rest.length === 0 ? kept : Buffer.concat([this.#rest, kept]);
  }
}
