/** The packed client. */
import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { root } from '../support/process.ts';
import { newProject, pack, servedPackage } from './project.ts';

const packed = await pack();
const project = await newProject(packed.tarball);
afterAll(async () => {
  await project[Symbol.asyncDispose]();
  await packed[Symbol.asyncDispose]();
});

const modules = [...new Bun.Glob('*.ts').scanSync(join(root, 'client/src'))].map((file) => file.slice(0, -3));

/** Maximum size when minified and compressed. */
const mostBytes = 12_000;

test('equals the package that the service serves (to update it, run npm run client)', async () => {
  const contentOf = async (tarball: string) => gunzipSync(await Bun.file(tarball).bytes());
  expect((await contentOf(packed.tarball)).equals(await contentOf(servedPackage))).toBe(true);
});

test('contains only the compiled modules with their types, the README and the license', () => {
  const compiled = modules.flatMap((name) =>
    ['dist', 'cjs/dist'].flatMap((folder) => [`${folder}/${name}.js`, `${folder}/${name}.d.ts`]),
  );
  const others = ['LICENSE', 'README.md', 'package.json', 'cjs/package.json'];
  expect(packed.files).toEqual([...others, ...compiled].sort());
});

test('has no dependencies or install scripts, and has the name and license of the project', async () => {
  const packageJson = await Bun.file(
    join(project.folder, 'node_modules/@animal-store/client/package.json'),
  ).json();
  expect(packageJson).toMatchObject({
    name: '@animal-store/client',
    license: 'MIT',
    type: 'module',
    sideEffects: false,
  });
  for (const member of ['dependencies', 'peerDependencies', 'optionalDependencies'])
    expect(packageJson).not.toHaveProperty(member);
  expect(Object.keys(packageJson.scripts ?? {})).not.toContainAnyValues([
    'preinstall',
    'install',
    'postinstall',
  ]);
});

test(`has fewer than ${mostBytes} bytes when bundled, minified and compressed`, async () => {
  const bundled = await project.bundle('whole.ts');
  const { length } = gzipSync(bundled);
  expect(length).toBeGreaterThan(1_000);
  expect(length).toBeLessThan(mostBytes);
});

test('imports no other modules, not even Node.js modules', async () => {
  const bundled = await project.bundle('whole.ts');
  expect(bundled).not.toMatch(/\bimport\b\s*[({*"'\w]|\brequire\s*\(/);
  expect(bundled).not.toContain('node:');
});

test('is tree-shakeable: importing an error class does not bundle the client', async () => {
  const bundled = await project.bundle('one-error.ts');
  expect(bundled).toContain('NotFoundError');
  for (const part of ['Retry-After', 'Idempotency-Key', 'Authorization', 'RateLimitError', 'fetch'])
    expect(bundled.toLowerCase()).not.toContain(part.toLowerCase());
});
