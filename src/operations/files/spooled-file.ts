import { type FileHandle, mkdtemp, open, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { ApiError } from '../../contract/api-error.ts';

/** An uploaded file. It is read twice, once for the hash and once for the import, so it is stored until disposal. */
export interface SpooledFile extends AsyncDisposable {
  readonly sha256: string;
  readonly bytes: number;
  read(signal?: AbortSignal): AsyncIterable<Buffer>;
}

/**
 * Disk space that an upload leaves free, because the store may be on the same disk. On a nearly full disk, half of the
 * free space is left instead.
 */
const reserveBytes = 67_108_864;
/** The free space is checked each time this number of bytes has arrived. */
const checkBytes = 4_194_304;

/**
 * Stores an upload in a folder. The file has no name, so it is also removed if the process is killed, and only this
 * process can read or change it. Rejects with the stream's error, or with `service_unavailable` if the folder cannot be
 * written or its disk is nearly full.
 */
export async function spoolToFile(content: AsyncIterable<Uint8Array>, folder: string): Promise<SpooledFile> {
  const refuse = (cause: NodeJS.ErrnoException): never => {
    const message = `The file cannot be stored in ${folder} (${cause.code}). Free up space, or make the folder writable.`;
    throw new ApiError('service_unavailable', { message, cause });
  };
  await using kept = new AsyncDisposableStack();
  const place = await mkdtemp(join(folder, '.animal-store-upload-')).catch(refuse);
  const file = kept.use(await open(join(place, 'file'), 'wx+', 0o600).catch(refuse));
  await rm(place, { recursive: true }).catch(refuse);
  const reserve = Math.min(reserveBytes, (await readFreeBytes(folder).catch(refuse)) / 2);
  const hash = new Bun.CryptoHasher('sha256');
  let [bytes, checkAt] = [0, 0];
  for await (const chunk of content) {
    if (bytes >= checkAt) {
      if ((await readFreeBytes(folder).catch(refuse)) < reserve)
        refuse(Object.assign(new Error('no space'), { code: 'ENOSPC' }));
      checkAt = bytes + checkBytes;
    }
    hash.update(chunk);
    bytes += chunk.length;
    await file.writeFile(chunk).catch(refuse);
  }
  const all = kept.move();
  return {
    sha256: hash.digest('hex'),
    bytes,
    read: (signal) => readChunks(file, bytes, signal),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

async function readFreeBytes(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}

/** Small enough to be hashed within a time slice (`domain/pacer.ts`). */
const chunkBytes = 262_144;

/**
 * Reads the first `bytes` of an open file in chunks, which have the same boundaries each time. Ends early if the file
 * is shorter, or if the signal is aborted.
 */
export async function* readChunks(
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
