/**
 * Downloads Scalar, the API reference page, into `assets/reference/`. Scalar is not a dependency, because its package
 * would add 200 other packages and 243 MB for a single file.
 */
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { $ } from 'bun';

const name = '@scalar/api-reference';
const version = '1.72.1';
const assets = new URL('../assets/reference/', import.meta.url);

const folder = await mkdtemp(join(tmpdir(), 'vendor-reference-'));
try {
  await $`npm pack ${name}@${version} --silent --pack-destination ${folder}`;
  await $`tar -xzf ${folder}/scalar-api-reference-${version}.tgz -C ${folder}`;

  const { license } = await Bun.file(join(folder, 'package/package.json')).json();
  // The package contains no license file, so the license comes from the repository.
  if (license !== 'MIT')
    throw new Error(`The license of ${name} is now ${license}, but assets/reference/LICENSE is MIT.`);

  const script = await Bun.file(join(folder, 'package/dist/browser/standalone.js')).bytes();
  const sha256 = createHash('sha256').update(script).digest('hex');
  const about = { name, version, license, file: 'dist/browser/standalone.js', sha256 };
  await Bun.write(new URL('scalar.js.gz', assets), gzipSync(script, { level: 9 }));
  await Bun.write(new URL('version.json', assets), `${JSON.stringify(about, undefined, 2)}\n`);
} finally {
  await rm(folder, { recursive: true });
}
