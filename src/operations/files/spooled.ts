import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Refusal } from '../../contract/refusal.ts';

/** An uploaded file. It is read twice, once for the hash and once for the import, so it is stored until disposal. */
export interface Spooled extends AsyncDisposable {
  readonly sha256: string;
  readonly bytes: number;
  read(): AsyncIterable<Buffer>;
}

/**
 * Stores an upload. Rejects with the stream's error, or with `service_unavailable` if the temporary folder cannot be
 * written.
 */
export async function spooled(content: AsyncIterable<Uint8Array>): Promise<Spooled> {
  await using kept = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'animal-store-')).catch(refuse);
  kept.defer(() => rm(folder, { recursive: true }));
  const path = join(folder, 'upload');
  const hash = new Bun.CryptoHasher('sha256');
  let bytes = 0;
  {
    await using file = await open(path, 'wx', 0o600).catch(refuse);
    for await (const chunk of content) {
      hash.update(chunk);
      bytes += chunk.length;
      await file.writeFile(chunk).catch(refuse);
    }
  }
  const all = kept.move();
  return {
    sha256: hash.digest('hex'),
    bytes,
    read: () => createReadStream(path) as AsyncIterable<Buffer>,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

function refuse(cause: NodeJS.ErrnoException): never {
  const message = `The temporary folder ${tmpdir()} cannot be written (${cause.code}). Free up space or make it writable, or set TMPDIR to another folder and restart the service.`;
  throw new Refusal('service_unavailable', { message, cause });
}
