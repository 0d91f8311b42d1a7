import { StorageUnavailable } from '../../storage.ts';
import { extentBytes, extentHeaderBytes, header, type TableLayout } from './layout.ts';
import type { LimitFile } from './limit-file.ts';
import type { RecordLocks } from './record-locks.ts';

/** Fixed-size records in id order, stored in extents of a file. */
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

  get reach(): number {
    return this.#layout.reach * this.recordsPerExtent;
  }

  /** The offset of the record in the file; 0 if the record is not allocated. */
  find(id: number): number {
    const index = Math.floor(id / this.recordsPerExtent);
    if (index >= this.#layout.reach) return 0;
    const extent = this.#file.i32[this.#layout.directory + index] as number;
    if (extent === 0) return 0;
    this.#file.reach(extent);
    return (
      extent * extentBytes + extentHeaderBytes + (id - index * this.recordsPerExtent) * this.#recordBytes
    );
  }

  /**
   * Like `find`, but allocates the record if necessary. Throws system errors, and `StorageUnavailable` for an id of
   * `reach` or above.
   */
  make(id: number, locks: RecordLocks): number {
    const found = this.find(id);
    if (found !== 0) return found;
    if (!(id < this.reach)) throw new StorageUnavailable(`the limit state has no room for the id ${id}`);
    const index = Math.floor(id / this.recordsPerExtent);
    locks.acquireOfHeader(header.growing);
    try {
      if (this.#file.i32[this.#layout.directory + index] === 0) {
        this.#file.add(this.#layout, index);
      }
    } finally {
      locks.release(header.growing);
    }
    return this.find(id);
  }

  each(each: (offset: number, id: number) => void): void {
    const { directory, reach } = this.#layout;
    for (let index = 0; index < reach; index++) {
      if (this.#file.i32[directory + index] === 0) continue;
      const first = index * this.recordsPerExtent;
      for (let id = first; id < first + this.recordsPerExtent; id++) each(this.find(id), id);
    }
  }
}
