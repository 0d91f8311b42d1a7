import { checksumOf } from './layout.ts';
import type { LimitFile } from './limit-file.ts';

/** Where a record has what, from its first byte; words are of 32 bits. */
export interface CopiesLayout {
  /** The sequence number; its last bit tells which copy counts. */
  readonly sequenceWord: number;
  /** Where the first of the copies begins. */
  readonly copiesByte: number;
  readonly copyBytes: number;
  /** The checksum of the first copy; that of the other one follows. */
  readonly checksumsWord: number;
}

/** Sequence numbers are 1 to this, and then begin anew without changing whose turn it is of the two copies. */
const lastSequence = 0x7fff_ffff;

/**
 * The state of a record, twice. A write fills the copy that does not count and then moves the sequence number on, so that
 * whoever is killed leaves the one or the other state, and a torn write the one before.
 */
export class TwoCopies {
  readonly #file: LimitFile;
  readonly #layout: CopiesLayout;

  constructor(file: LimitFile, layout: CopiesLayout) {
    this.#file = file;
    this.#layout = layout;
  }

  /** Which state of the record counts; 0 when it was never written. */
  sequence(record: number): number {
    return Atomics.load(this.#file.i32, record / 4 + this.#layout.sequenceWord);
  }

  /** At which byte of the file the copy that counts begins; undefined when neither is as it was written. */
  current(record: number, id: number): number | undefined {
    const newer = this.sequence(record) & 1;
    if (this.#isSound(record, id, newer)) return this.#begin(record, newer);
    // Torn by a power failure: the other copy is what was there before.
    const older = 1 - newer;
    return this.#isSound(record, id, older) ? this.#begin(record, older) : undefined;
  }

  /** At which byte the copy begins that is to be filled, before `commit`. */
  next(record: number): number {
    return this.#begin(record, after(this.sequence(record)) & 1);
  }

  /** Makes the copy that was filled the one that counts. */
  commit(record: number, id: number): void {
    const { i32 } = this.#file;
    const sequence = after(this.sequence(record));
    i32[this.#checksumWord(record, sequence & 1)] = this.#checksum(record, id, sequence & 1);
    Atomics.store(i32, record / 4 + this.#layout.sequenceWord, sequence);
    this.#file.changed();
  }

  #begin(record: number, copy: number): number {
    return record + this.#layout.copiesByte + copy * this.#layout.copyBytes;
  }

  #isSound(record: number, id: number, copy: number): boolean {
    return this.#file.i32[this.#checksumWord(record, copy)] === this.#checksum(record, id, copy);
  }

  #checksumWord(record: number, copy: number): number {
    return record / 4 + this.#layout.checksumsWord + copy;
  }

  #checksum(record: number, id: number, copy: number): number {
    return checksumOf(this.#file.i32, this.#begin(record, copy) / 4, this.#layout.copyBytes / 4, id);
  }
}

/** The sequence number after one; 0 is left to records that were never written. */
function after(sequence: number): number {
  return sequence === lastSequence ? 2 : sequence + 1;
}
