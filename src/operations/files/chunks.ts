import type { FileHandle } from 'node:fs/promises';

/** Small enough to be hashed within a time slice (`domain/pacer.ts`). */
const chunkBytes = 262_144;

/**
 * Reads the first `bytes` of an open file in chunks, which have the same boundaries each time. Ends early if the file
 * is shorter, or if the signal is aborted.
 */
export async function* chunksOf(
  file: FileHandle,
  bytes: number,
  signal?: AbortSignal,
): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes; ) {
    const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, bytes - at));
    let length = 0;
    while (length < chunk.length) {
      const { bytesRead } = await file.read(chunk, length, chunk.length - length, at + length);
      if (signal?.aborted) return;
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    if (length > 0) yield chunk.subarray(0, length);
    if (length < chunk.length) return;
    at += length;
  }
}
