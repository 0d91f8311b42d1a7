import { closeSync, fstatSync, ftruncateSync, openSync } from 'node:fs';
import { StorageUnavailable } from '../../outages/errors.ts';
import { writeAll } from '../../store-files/disk.ts';
import {
  type FileIdentity,
  findDataLoss,
  findLoss,
  type StoreIdentity,
  toFileIdentity,
} from '../../store-files/file-identity.ts';
import { limitFileMagic } from '../../store-files/files.ts';
import {
  computeChecksum,
  extentBytes,
  extentHeaderBytes,
  extentMagic,
  format,
  header,
  maxExtents,
  type TableLayout,
} from './layout.ts';

const headerWords = header.checksum;
/**
 * Number of words in an extent's header: magic, format, table, index in the table (low word), and strikes. The checksum
 * and the high word of the index follow.
 */
const extentWords = 5;
const indexWord = 3;
const highIndexWord = 6;

/** Smallest page size of any supported system. */
const pageBytes = 4_096;

interface ExtentHeader {
  readonly table: number;
  readonly index: number;
  readonly strikes: number;
}

export interface NewFileOptions {
  readonly strikes: number;
  readonly strictSince: number;
}

/**
 * A file mapped into the memory of every process that opens it. Other processes see a write immediately, and the write
 * survives if the process is killed. `i32` and `f64` are replaced when the file grows.
 */
export class LimitFile implements Disposable {
  readonly path: string;
  readonly fd: number;
  readonly #identity: FileIdentity;
  i32: Int32Array;
  f64: Float64Array;
  #mapped = 0;
  /** First owner number assigned since the service started; undefined until this process counts requests. */
  #run: number | undefined;
  #store: StoreIdentity | undefined;

  /** Throws system errors. */
  constructor(path: string) {
    this.path = path;
    this.fd = openSync(path, 'r+');
    this.#identity = toFileIdentity(path, fstatSync(this.fd, { bigint: true }));
    this.i32 = new Int32Array(0);
    this.f64 = new Float64Array(0);
    if (fstatSync(this.fd).size >= extentBytes) this.#map();
  }

  /** Writes the header of an empty file. Throws system errors, such as ENOSPC. */
  static create(path: string, { strikes, strictSince }: NewFileOptions): LimitFile {
    const file = openSync(path, 'r+');
    try {
      const bytes = Buffer.alloc(extentBytes);
      bytes.write(limitFileMagic, 'latin1');
      const words = new Int32Array(bytes.buffer, bytes.byteOffset, extentBytes / 4);
      // A seed that is unknown to clients and different for every file.
      const { birthtimeNs, ino } = fstatSync(file, { bigint: true });
      words[header.format] = format;
      words[header.strikes] = strikes;
      words[header.seedLow] = Number(BigInt.asIntN(32, birthtimeNs));
      words[header.seedHigh] = Number(BigInt.asIntN(32, birthtimeNs >> 32n)) ^ Number(BigInt.asIntN(32, ino));
      words[header.strictSince] = strictSince;
      words[header.checksum] = computeChecksum(words, 0, headerWords, 0);
      words[header.nextOwner] = 1;
      words[header.extents] = 1;
      writeAll(file, bytes, 0);
    } finally {
      closeSync(file);
    }
    return new LimitFile(path);
  }

  get strikes(): number {
    return this.i32[header.strikes] as number;
  }

  get strictSince(): number {
    return (this.i32[header.strictSince] as number) >>> 0;
  }

  /** Whether the header is undamaged, regardless of its format version. */
  get isSound(): boolean {
    const { i32 } = this;
    if (i32.length === 0) return false;
    const isOurs = Buffer.from(i32.buffer, 0, limitFileMagic.length).toString('latin1') === limitFileMagic;
    return isOurs && i32[header.checksum] === computeChecksum(i32, 0, headerWords, 0);
  }

  get extentsBySize(): number {
    return Math.floor(fstatSync(this.fd).size / extentBytes);
  }

  /** After this call, `loss` also detects that the service was restarted or the file was overwritten. */
  beginCounting(store?: StoreIdentity): void {
    this.#store = store;
    this.#run = this.i32[header.firstOwner];
  }

  /** Reason why counts are no longer written to the file at `path`; undefined if they are. */
  get loss(): string | undefined {
    const loss = findLoss(this.#identity);
    if (loss !== undefined) return `${loss}; ${this.#remedy}`;
    return this.isOverwritten
      ? `${this.path} was overwritten while it was in use; ${this.#remedy}`
      : undefined;
  }

  /** A restart would delete the last copy of a deleted data file. */
  get #remedy(): string {
    const isDataLost = this.#store !== undefined && findDataLoss(this.#store) !== undefined;
    return isDataLost
      ? 'the data file is lost as well: do not restart the service before you have saved the data as described in "Lost store files" in docs/troubleshooting.md'
      : 'put the same file back, or restart the service';
  }

  /** Whether the header was overwritten since this process began to count. If so, the locks in the file are invalid. */
  get isOverwritten(): boolean {
    return this.#run !== undefined && (this.i32[header.firstOwner] !== this.#run || !this.isSound);
  }

  changed(): void {
    if (this.i32[header.changed] !== 1) this.i32[header.changed] = 1;
  }

  touch(): void {
    for (let word = 0; word < this.i32.length; word += pageBytes / 4) Atomics.or(this.i32, word, 0);
  }

  /** Maps an extent that another process may have added. Throws `StorageUnavailable` if the extent does not exist. */
  reach(extent: number): void {
    // Compared as unsigned, because an overwritten file may contain negative extent numbers.
    if (extent >>> 0 < this.#mapped) return;
    this.#map();
    if (extent >>> 0 >= this.#mapped) throw new StorageUnavailable(`${this.path} has no extent ${extent}`);
  }

  /** Maps the extent that contains a 32-bit word. Returns false for word 0, or if the file is too short. */
  mapWord(word: number): boolean {
    const extent = Math.floor((word * 4) / extentBytes);
    if (word <= 0 || extent >= this.extentsBySize) return false;
    this.reach(extent);
    return true;
  }

  /**
   * Adds an extent to a table. Callers must hold the lock. The extent is written in full, because accessing a hole in a
   * file on a full disk would kill the process. If this throws a system error, nothing was added.
   */
  add({ number, directory }: TableLayout, slot: number, index: number): void {
    const extent = this.i32[header.extents] as number;
    if (extent >= maxExtents) throw new Error(`${this.path} has reached its maximum size`);
    const bytes = Buffer.alloc(extentBytes);
    const words = new Int32Array(bytes.buffer, bytes.byteOffset, extentHeaderBytes / 4);
    const high = Math.floor(index / 2 ** 32);
    words.set([extentMagic, format, number, index, this.strikes]);
    words.set([computeChecksum(words, 0, extentWords, high), high], extentWords);
    try {
      writeAll(this.fd, bytes, extent * extentBytes);
    } catch (error) {
      // Releases the disk space, so that the data file can use it.
      ftruncateSync(this.fd, extent * extentBytes);
      throw error;
    }
    this.reach(extent);
    // Written in this order, so that an extent in use is never allocated again.
    Atomics.store(this.i32, header.extents, extent + 1);
    Atomics.store(this.i32, directory + slot, extent);
    this.changed();
  }

  /** The header of an extent; undefined if the header is damaged, `free` if it was never written. */
  extent(extent: number): ExtentHeader | 'free' | undefined {
    const { i32 } = this;
    const from = (extent * extentBytes) / 4;
    const words = i32.subarray(from, from + highIndexWord + 1);
    if (words.every((word) => word === 0)) return 'free';
    const [magic, itsFormat, table = 0, , strikes = 0, checksum, high = 0] = words;
    const isSound = checksum === computeChecksum(i32, from, extentWords, high);
    if (magic !== extentMagic || itsFormat !== format || !isSound) return undefined;
    return { table, index: this.indexOf(extent), strikes };
  }

  /** The index of a mapped extent in its table. */
  indexOf(extent: number): number {
    const from = (extent * extentBytes) / 4;
    const low = (this.i32[from + indexWord] as number) >>> 0;
    return low + (this.i32[from + highIndexWord] as number) * 2 ** 32;
  }

  [Symbol.dispose](): void {
    closeSync(this.fd);
  }

  #map(): void {
    const { loss } = this;
    if (loss !== undefined) throw new StorageUnavailable(loss);
    const { buffer } = Bun.mmap(this.path, { shared: true });
    this.#mapped = Math.floor(buffer.byteLength / extentBytes);
    this.i32 = new Int32Array(buffer, 0, (this.#mapped * extentBytes) / 4);
    this.f64 = new Float64Array(buffer, 0, (this.#mapped * extentBytes) / 8);
  }
}
