/** The client's package, as it is packed: what is in it, and what tools that judge packages say. */
import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { root } from '../support/process.ts';
import { newProject, run, tests, toolsInstalled } from './project.ts';

const project = await newProject();
afterAll(() => project[Symbol.asyncDispose]());

const modules = [...new Bun.Glob('*.ts').scanSync(join(root, 'client/src'))].map((file) => file.slice(0, -3));

/** Minified and compressed, in bytes. */
const mostBytes = 9_000;

test('has its compiled modules with their types, README and licence, and nothing else', () => {
  const compiled = modules.flatMap((name) =>
    ['dist', 'cjs/dist'].flatMap((folder) => [`${folder}/${name}.js`, `${folder}/${name}.d.ts`]),
  );
  const others = ['LICENSE', 'README.md', 'package.json', 'cjs/package.json'];
  expect(project.files).toEqual([...others, ...compiled].sort());
});

test('has no dependencies, runs nothing when it is installed, and carries the name and licence of the project', async () => {
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

test(`is less than ${mostBytes} bytes when it is bundled, minified and compressed`, async () => {
  const bundled = await project.bundle('whole.ts');
  const { length } = gzipSync(bundled);
  expect(length).toBeGreaterThan(1_000);
  expect(length).toBeLessThan(mostBytes);
});

test('imports nothing, of Node.js or any other', async () => {
  const bundled = await project.bundle('whole.ts');
  expect(bundled).not.toMatch(/\bimport\b\s*[({*"'\w]|\brequire\s*\(/);
  expect(bundled).not.toContain('node:');
});

test('leaves out what is not imported: an error class alone brings no client', async () => {
  const bundled = await project.bundle('one-error.ts');
  expect(bundled).toContain('NotFoundError');
  for (const part of ['Retry-After', 'Idempotency-Key', 'Authorization', 'RateLimitError', 'fetch'])
    expect(bundled.toLowerCase()).not.toContain(part.toLowerCase());
});

test.skipIf(!(await toolsInstalled()))(
  'is right to publint and to arethetypeswrong, wherever its modules are resolved',
  async () => {
    const { output } = await run([process.execPath, join(tests, 'judge.js'), project.tarball], tests);
    const { messages, types, problems } = JSON.parse(output);
    expect(messages).toEqual([]);
    expect(types).toEqual({ kind: 'included' });
    expect(problems).toEqual([]);
  },
);
