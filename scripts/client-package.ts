/**
 * Packs the TypeScript client into `assets/client/client-<version>.tgz`, which the service serves: `npm run client`.
 * Replaces the file only if its uncompressed contents have changed, because the compressed bytes differ between versions
 * of Node.js.
 */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import packageJson from '../client/package.json' with { type: 'json' };

const root = fileURLToPath(new URL('..', import.meta.url));
const file = `assets/client/client-${packageJson.version}.tgz`;
const target = join(root, file);

async function packed(): Promise<Uint8Array> {
  const folder = await mkdtemp(join(tmpdir(), 'animal-store-client-'));
  try {
    await rm(join(root, 'client/dist'), { recursive: true, force: true });
    await rm(join(root, 'client/cjs/dist'), { recursive: true, force: true });
    await Bun.$`npm pack ./client --pack-destination ${folder}`.cwd(root).quiet();
    const [name = ''] = [...new Bun.Glob('*.tgz').scanSync(folder)];
    return await Bun.file(join(folder, name)).bytes();
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const bytes = await packed();
const isFresh = existsSync(target) && gunzipSync(await Bun.file(target).bytes()).equals(gunzipSync(bytes));
if (!isFresh) await Bun.write(target, bytes);
process.stdout.write(`${file} is ${isFresh ? 'unchanged' : 'new'}\n`);
