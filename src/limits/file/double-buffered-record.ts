import { computeChecksum } from './layout.ts';
import type { LimitFile } from './limit-file.ts';

/** Positions in a record, in bytes or 32-bit words. */
interface CopiesLayout {
  /** The sequence number, whose last bit is the index of the current copy. */
  readonly sequenceWord: number;
  readonly copiesOffset: number;
  readonly copyBytes: number;
  /** Position of the checksum of the first copy; the checksum of the second copy follows. */
  readonly checksumsWord: number;
}

/** Maximum sequence number. It is odd, so numbering continues at 2, which keeps the copies alternating. */
const lastSequence = 0x7fff_ffff;

/**
 * A write fills the unused copy, then increments the sequence number. A killed process or a torn write thus leaves a
 * valid state.
 */
export class DoubleBufferedRecord {
  readonly #file: LimitFile;
  readonly #layout: CopiesLayout;

  constructor(file: LimitFile, layout: CopiesLayout) {
    this.#file = file;
    this.#layout = layout;
  }

  sequence(record: number): number {
    return Atomics.load(this.#file.i32, record / 4 + this.#layout.sequenceWord);
  }

  /** The offset of the current copy in the file; undefined if both copies are damaged. */
  current(record: number, id: number): number | undefined {
    const newer = this.sequence(record) & 1;
    if (this.#isSound(record, id, newer)) return this.#begin(record, newer);
    // A power failure interrupted the write of this copy. The other copy has the previous state.
    const older = 1 - newer;
    return this.#isSound(record, id, older) ? this.#begin(record, older) : undefined;
  }

  /** The offset of the copy to fill before `commit`. */
  next(record: number): number {
    return this.#begin(record, nextSequence(this.sequence(record)) & 1);
  }

  /** Makes the filled copy the current one. */
  commit(record: number, id: number): void {
    const { i32 } = this.#file;
    const sequence = nextSequence(this.sequence(record));
    i32[this.#checksumWord(record, sequence & 1)] = this.#checksum(record, id, sequence & 1);
    Atomics.store(i32, record / 4 + this.#layout.sequenceWord, sequence);
    this.#file.changed();
  }

  #begin(record: number, copy: number): number {
    return record + this.#layout.copiesOffset + copy * this.#layout.copyBytes;
  }

  #isSound(record: number, id: number, copy: number): boolean {
    return this.#file.i32[this.#checksumWord(record, copy)] === this.#checksum(record, id, copy);
  }

  #checksumWord(record: number, copy: number): number {
    return record / 4 + this.#layout.checksumsWord + copy;
  }

  #checksum(record: number, id: number, copy: number): number {
    return computeChecksum(this.#file.i32, this.#begin(record, copy) / 4, this.#layout.copyBytes / 4, id);
  }
}

/** The next sequence number; 0 is reserved for records that were never written. */
function nextSequence(sequence: number): number {
  return sequence === lastSequence ? 2 : sequence + 1;
}
