import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A file that came as a stream, kept until it is disposed of, for it is read twice: to know it, and to import it. */
export interface Spooled extends AsyncDisposable {
  readonly sha256: string;
  readonly bytes: number;
  read(): AsyncIterable<Buffer>;
}

/** Writes the stream to a temporary file. Rejects with what the stream does, and leaves nothing behind then. */
export async function spooled(content: AsyncIterable<Uint8Array>): Promise<Spooled> {
  await using kept = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'animal-store-'));
  kept.defer(() => rm(folder, { recursive: true }));
  const path = join(folder, 'upload');
  const hash = new Bun.CryptoHasher('sha256');
  let bytes = 0;
  {
    await using file = await open(path, 'wx', 0o600);
    for await (const chunk of content) {
      hash.update(chunk);
      bytes += chunk.length;
      await file.writeFile(chunk);
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
