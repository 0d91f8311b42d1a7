import { StorageUnavailable } from '../../outages/errors.ts';
import { extentBytes, extentHeaderBytes, header, type TableLayout } from './layout.ts';
import type { LimitFile } from './limit-file.ts';
import type { RecordLocks } from './record-locks.ts';

/** Fixed-size records, stored in extents of a file. An extent contains the records of consecutive ids. */
export class LimitTable {
  readonly #file: LimitFile;
  readonly #layout: TableLayout;
  readonly #recordBytes: number;
  readonly recordsPerExtent: number;

  constructor(file: LimitFile, layout: TableLayout, recordBytes: number) {
    this.#file = file;
    this.#layout = layout;
    this.#recordBytes = recordBytes;
    this.recordsPerExtent = Math.floor((extentBytes - extentHeaderBytes) / recordBytes);
  }

  /** Number of records if every extent is allocated. */
  get capacity(): number {
    return this.#layout.slots * this.recordsPerExtent;
  }

  /** The offset of the record in the file; 0 if the record is not allocated. */
  find(id: number): number {
    const index = Math.floor(id / this.recordsPerExtent);
    const slot = findSlot(this.#file, this.#layout, index);
    const extent = slot === undefined ? 0 : (this.#file.i32[this.#layout.directory + slot] as number);
    if (extent === 0) return 0;
    return (
      extent * extentBytes + extentHeaderBytes + (id - index * this.recordsPerExtent) * this.#recordBytes
    );
  }

  /**
   * Like `find`, but allocates the record if necessary. Throws system errors, and `StorageUnavailable` if the table is
   * full.
   */
  make(id: number, locks: RecordLocks): number {
    const found = this.find(id);
    if (found !== 0) return found;
    const index = Math.floor(id / this.recordsPerExtent);
    locks.acquireOfHeader(header.growing);
    try {
      const slot = findSlot(this.#file, this.#layout, index);
      if (slot === undefined) throw new StorageUnavailable(`the limit state has no room for the id ${id}`);
      if (this.#file.i32[this.#layout.directory + slot] === 0) this.#file.add(this.#layout, slot, index);
    } finally {
      locks.release(header.growing);
    }
    return this.find(id);
  }

  hasRoom(id: number): boolean {
    return findSlot(this.#file, this.#layout, Math.floor(id / this.recordsPerExtent)) !== undefined;
  }

  each(each: (offset: number, id: number) => void): void {
    const { directory, slots } = this.#layout;
    for (let slot = 0; slot < slots; slot++) {
      const extent = this.#file.i32[directory + slot] as number;
      if (extent === 0) continue;
      this.#file.reach(extent);
      const first = this.#file.indexOf(extent) * this.recordsPerExtent;
      for (let id = first; id < first + this.recordsPerExtent; id++) each(this.find(id), id);
    }
  }
}

/** The slot of an extent in the directory, or the free slot where it belongs; undefined if the directory is full. */
export function findSlot(
  file: LimitFile,
  { directory, slots }: TableLayout,
  index: number,
): number | undefined {
  for (let probe = 0; probe < slots; probe++) {
    const slot = (index + probe) % slots;
    const extent = file.i32[directory + slot] as number;
    if (extent === 0) return slot;
    file.reach(extent);
    if (file.indexOf(extent) === index) return slot;
  }
  return undefined;
}
