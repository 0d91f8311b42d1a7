/**
 * Downloads Scalar, the reference page, into `assets/reference/`. Its package adds 200 others and 243 MB for
 * one file, so it is not a dependency.
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
  // The package has no licence file, so the licence comes from its repository.
  if (license !== 'MIT')
    throw new Error(`${name} is under ${license} now: assets/reference/LICENSE says MIT.`);

  const script = await Bun.file(join(folder, 'package/dist/browser/standalone.js')).bytes();
  const sha256 = createHash('sha256').update(script).digest('hex');
  const about = { name, version, license, file: 'dist/browser/standalone.js', sha256 };
  await Bun.write(new URL('scalar.js.gz', assets), gzipSync(script, { level: 9 }));
  await Bun.write(new URL('version.json', assets), `${JSON.stringify(about, undefined, 2)}\n`);
} finally {
  await rm(folder, { recursive: true });
}
