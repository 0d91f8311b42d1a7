/** Detects that the data file or the WAL of an open store was truncated, overwritten in place or damaged. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** Descriptors of the files of an open store. Plain data, which the writer thread uses as well. */
export interface FileDescriptors {
  readonly data: number;
  readonly wal: number;
  readonly index: number;
  /** The largest size of the data file since all frames were saved, in bytes. Shared by the threads, as only one checkpoints. */
  readonly largestSize: Float64Array;
}

/**
 * Opens files in addition to SQLite. Closing a descriptor releases all locks of the process on the file
 * (sqlite.org/howtocorrupt.html section 2.2), so this must be disposed of after SQLite has closed the files.
 */
export class OpenFiles implements Disposable {
  readonly #open: number[] = [];

  /** SQLite must have opened the files. Throws system errors. */
  open(data: string): FileDescriptors {
    const [dataFile, wal, index] = ['', '-wal', '-shm'].map((suffix) => {
      const file = openSync(data + suffix, 'r');
      this.#open.push(file);
      return file;
    }) as [number, number, number];
    const largestSize = new Float64Array(new SharedArrayBuffer(8)).fill(fstatSync(dataFile).size);
    return { data: dataFile, wal, index, largestSize };
  }

  [Symbol.dispose](): void {
    for (const file of this.#open.splice(0)) closeSync(file);
  }
}

/** Contents of the WAL-index (sqlite.org/walformat.html section 2.1). */
interface WalIndexState {
  readonly bytes: Buffer;
  /** Number of frames in the WAL that are part of the store. */
  readonly frames: number;
  /** Number of frames whose pages are in the data file. */
  readonly saved: number;
  readonly pageBytes: number;
  /** Size of the part of the WAL that is part of the store, in bytes. */
  readonly walBytes: number;
  /** Identifies the contents of the WAL; also in the header of the WAL. */
  readonly salts: Buffer;
  /** False while pages are being copied to the data file, and after a failed copy or a recovery of the WAL. */
  readonly isCheckpointed: boolean;
}

const indexBytes = 136;
const headerBytes = 48;
const [walHeaderBytes, frameHeaderBytes] = [32, 24];
const saltsAt = { index: 32, wal: 16 } as const;

/** Undefined if the index is being changed. */
function readWalIndex({ index }: Pick<FileDescriptors, 'index'>): WalIndexState | undefined {
  const bytes = Buffer.alloc(indexBytes);
  const read = readSync(index, bytes, 0, indexBytes, 0);
  const isComplete = bytes.compare(bytes, headerBytes, 2 * headerBytes, 0, headerBytes) === 0;
  if (read < indexBytes || bytes[12] !== 1 || !isComplete) return undefined;
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, indexBytes / 4);
  const pageSize = new Uint16Array(bytes.buffer, bytes.byteOffset, 8)[7] as number;
  const [frames, saved, attempted] = [words[4], words[24], words[32]] as [number, number, number];
  const pageBytes = decodePageSize(pageSize);
  return {
    ...{ bytes, frames, saved, pageBytes },
    walBytes: frames === 0 ? 0 : frameAt(frames, pageBytes),
    salts: bytes.subarray(saltsAt.index, saltsAt.index + 8),
    isCheckpointed: saved === attempted,
  };
}

/** Position of a frame in the WAL, counted from 0. */
function frameAt(frame: number, pageBytes: number): number {
  return walHeaderBytes + frame * (pageBytes + frameHeaderBytes);
}

/** The largest page size does not fit into two bytes, and is stored as 1. */
function decodePageSize(pageSize: number): number {
  return pageSize === 1 ? 65_536 : pageSize;
}

/** The salts in a WAL's header (sqlite.org/walformat.html section 1.1); undefined if the file is too short for a header. */
function readSalts(wal: number): Buffer | undefined {
  const bytes = Buffer.alloc(walHeaderBytes);
  if (readSync(wal, bytes, 0, walHeaderBytes, 0) < walHeaderBytes) return undefined;
  return bytes.subarray(saltsAt.wal, saltsAt.wal + 8);
}

interface DataHeader {
  /** Size of the data file according to its header. */
  readonly bytes: number;
  /** Increases with every change of the header. */
  readonly changes: number;
  readonly applicationId: number;
}

/** The header of a data file (sqlite.org/fileformat.html section 1.3); undefined if it has none. */
export function readDataHeader(data: number): DataHeader | undefined {
  const bytes = Buffer.alloc(100);
  const read = readSync(data, bytes, 0, bytes.length, 0);
  if (read < bytes.length || !bytes.toString('latin1', 0, 16).startsWith('SQLite format 3\0'))
    return undefined;
  return {
    bytes: bytes.readUInt32BE(28) * decodePageSize(bytes.readUInt16BE(16)),
    changes: bytes.readUInt32BE(24),
    applicationId: bytes.readUInt32BE(68),
  };
}

/** Number of times that a check is repeated because another process changed the WAL-index during the check. */
const maxAttempts = 3;

export interface Truncation {
  readonly file: 'data' | 'wal';
  readonly how: string;
}

/** Finds a file that lacks contents which SQLite has written; undefined if there is none. Throws system errors. */
export function checkTruncation(open: FileDescriptors): Truncation | undefined {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const state = readWalIndex(open);
    if (state === undefined) continue;
    const found = findTruncation(open, state);
    // Another process may have checkpointed or restarted the WAL between the reads. It changes the index first.
    if (found === undefined || readWalIndex(open)?.bytes.equals(state.bytes)) return found;
  }
  return undefined;
}

function findTruncation(open: FileDescriptors, state: WalIndexState): Truncation | undefined {
  // Frames that are all saved are not read again, and the next change overwrites them.
  if (state.frames > state.saved) {
    if (fstatSync(open.wal).size < state.walBytes) return { file: 'wal', how: 'truncated' };
    // Writing to an emptied file restores its size, but not its header.
    if (readSalts(open.wal)?.equals(state.salts) !== true) return { file: 'wal', how: 'overwritten' };
  }
  const header = readDataHeader(open.data);
  if (header === undefined) return { file: 'data', how: 'truncated or overwritten' };
  // Read first, because another thread may raise it.
  const largestSize = open.largestSize[0] as number;
  const { size } = fstatSync(open.data);
  // Until all frames are saved, the file may be shorter than its first page says: a checkpoint up to the snapshot of a
  // reader skips pages that later frames change again, even if they are new.
  const isSaved = state.frames === state.saved && state.isCheckpointed;
  if (size < header.bytes && (isSaved || size < largestSize)) return { file: 'data', how: 'truncated' };
  if (isSaved || size > largestSize) open.largestSize[0] = size;
  return undefined;
}

/** Offset of the flag in the WAL-index that is set if checksums are computed from big-endian words. */
const isBigEndianAt = 13;

/**
 * Whether the frames that a checkpoint would copy to the data file have the right checksums
 * (sqlite.org/walformat.html section 1.2). SQLite verifies them only when the first process opens the files. True if another
 * process keeps changing the WAL. Throws system errors.
 */
export function areFramesIntact(open: FileDescriptors): boolean {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const state = readWalIndex(open);
    if (state === undefined) continue;
    if (verifyFrames(open, state)) return true;
    if (readWalIndex(open)?.bytes.equals(state.bytes)) return false;
  }
  return true;
}

/** A checkpoint copies only the last frame of each page, so damage of earlier ones loses nothing. */
function verifyFrames({ wal }: FileDescriptors, { frames, saved, pageBytes, bytes }: WalIndexState): boolean {
  const frame = Buffer.alloc(frameHeaderBytes + pageBytes);
  const read = (at: number, count: number) => readSync(wal, frame, 0, count, at) === count;
  const isBigEndian = bytes[isBigEndianAt] === 1;
  const verified = new Set<number>();
  for (let number = frames - 1; number >= saved; number--) {
    const at = frameAt(number, pageBytes);
    if (!read(at, frameHeaderBytes)) return false;
    const page = frame.readUInt32BE(0);
    if (verified.has(page)) continue;
    verified.add(page);
    // Each frame continues the checksum of the previous one. The first one continues that of the header, whose copy in the
    // WAL is needed only for a recovery.
    const [previousAt, previousBytes] = number === 0 ? [0, walHeaderBytes - 8] : [at - pageBytes - 8, 8];
    if (!read(previousAt, previousBytes)) return false;
    const previous = frame.subarray(0, previousBytes);
    const start = number === 0 ? addChecksum([0, 0], previous, isBigEndian) : readChecksum(previous, 0);
    if (!read(at, frame.length)) return false;
    const sum = addChecksum(
      addChecksum(start, frame.subarray(0, 8), isBigEndian),
      frame.subarray(frameHeaderBytes),
      isBigEndian,
    );
    const expected = readChecksum(frame, frameHeaderBytes - 8);
    if (sum[0] !== expected[0] || sum[1] !== expected[1]) return false;
  }
  return true;
}

type Checksum = readonly [number, number];

function readChecksum(bytes: Buffer, at: number): Checksum {
  return [bytes.readUInt32BE(at), bytes.readUInt32BE(at + 4)];
}

function addChecksum([first, second]: Checksum, bytes: Buffer, isBigEndian: boolean): Checksum {
  let [even, odd] = [first, second];
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 0; at < bytes.length; at += 8) {
    even = (even + words.getUint32(at, !isBigEndian) + odd) >>> 0;
    odd = (odd + words.getUint32(at + 4, !isBigEndian) + even) >>> 0;
  }
  return [even, odd];
}
