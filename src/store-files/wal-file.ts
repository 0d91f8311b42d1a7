/** Compares a data file with its WAL without SQLite (sqlite.org/walformat.html). */
import { closeSync, openSync, readSync } from 'node:fs';

const [headerBytes, frameHeaderBytes] = [32, 24];

interface Frame {
  readonly page: number;
  /** Position of the page's contents in the WAL. */
  readonly at: number;
}

/**
 * Whether the data file contains pages of its WAL. A checkpoint writes pages in ascending order, so it is enough to check
 * the first one. Does not consider page 1, which may be the same in another store. No process may use the files, and this process
 * must not have opened them. Throws system errors.
 */
export function wasCheckpointed(data: string): boolean {
  using opened = new DisposableStack();
  const [file, wal] = [data, `${data}-wal`].map((path) => opened.adopt(openSync(path, 'r'), closeSync)) as [
    number,
    number,
  ];
  const { pageBytes, frames } = readFrames(wal);
  const first = frames.reduce((least, { page }) => (page > 1 ? Math.min(least, page) : least), Infinity);
  if (first === Infinity) return false;
  const stored = readAt(file, pageBytes, (first - 1) * pageBytes);
  return frames.some(({ page, at }) => page === first && readAt(wal, pageBytes, at).equals(stored));
}

/** Reads the headers of all committed frames. */
function readFrames(wal: number): { readonly pageBytes: number; readonly frames: readonly Frame[] } {
  const header = readAt(wal, headerBytes, 0);
  if (header.length < headerBytes) return { pageBytes: 0, frames: [] };
  const pageBytes = header.readUInt32BE(8);
  const frames: Frame[] = [];
  let committed = 0;
  for (let at = headerBytes; ; at += frameHeaderBytes + pageBytes) {
    const frame = readAt(wal, frameHeaderBytes, at);
    // Frames with other salts are left over from before the WAL was restarted.
    const isCurrent =
      frame.length === frameHeaderBytes && frame.subarray(8, 16).equals(header.subarray(16, 24));
    if (!isCurrent) return { pageBytes, frames: frames.slice(0, committed) };
    frames.push({ page: frame.readUInt32BE(0), at: at + frameHeaderBytes });
    if (frame.readUInt32BE(4) > 0) committed = frames.length;
  }
}

/** Returns fewer bytes at the end of the file. */
function readAt(file: number, count: number, position: number): Buffer {
  const bytes = Buffer.alloc(count);
  return bytes.subarray(0, readSync(file, bytes, 0, count, position));
}
