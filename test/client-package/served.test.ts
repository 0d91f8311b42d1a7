/** The client package, downloaded from a service and used with only the service's URL and a key. */
import { afterAll, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { startTestApp } from '../support/app.ts';
import { temporaryFolder } from '../support/folder.ts';
import { root } from '../support/process.ts';
import { run, servedPackage } from './project.ts';

const app = await startTestApp();
const folder = await temporaryFolder();
afterAll(async () => {
  await folder[Symbol.asyncDispose]();
  await app[Symbol.asyncDispose]();
});

const current = basename(servedPackage);

/** Hashes of the packages of released versions, as in the lock files of projects that use them. */
const released = {
  'client-1.1.0.tgz':
    'sha512-JEaxHEqyd03tOmjsGCkhxmVd6ftj2fbgjN7axKgBV5fVUMUajr+OpLDjFcMrvTg0LI9qhqBEBCPQNkd/8R80sg==',
};

test('the service serves the current package and the packages of released versions, whose content never changes', async () => {
  const files = readdirSync(join(root, 'assets/client'));
  expect(files.sort()).toEqual([...Object.keys(released), current].sort());
  for (const [file, hash] of Object.entries(released)) {
    const content = await (await fetch(`${app.url}/${file}`)).bytes();
    expect(`sha512-${createHash('sha512').update(content).digest('base64')}`).toBe(hash);
  }
  const content = await (await fetch(`${app.url}/${current}`)).bytes();
  expect(content).toEqual(await Bun.file(servedPackage).bytes());
});

test('/client.tgz redirects to the current package', async () => {
  const { status, headers } = await fetch(`${app.url}/client.tgz`, { redirect: 'manual' });
  expect([status, headers.get('location')]).toEqual([302, `/${current}`]);
});

const readme = await Bun.file(join(root, 'client/README.md')).text();
const [, commonJsSample = ''] = /^```js\n([\s\S]*?)^```$/m.exec(readme) ?? [];
const calls = `
const store = new AnimalStore({ url: process.env.ANIMAL_STORE_URL, key: process.env.ANIMAL_STORE_KEY });
store.pets
  .create({ name: 'Ozzy', categoryId: 7n })
  .then(({ id }) => store.pets.find(id))
  .then((pet) => console.log(pet?.name, pet?.categoryId === 7n));
`;

test('can be installed from its URL in an empty project, and loads in Node.js as an ES module and as CommonJS', async () => {
  await Bun.write(join(folder.path, 'package.json'), '{ "name": "project", "private": true }');
  const install = ['npm', 'install', '--no-audit', '--no-fund', `${app.url}/${current}`];
  expect(await run(install, folder.path)).toMatchObject({ exitCode: 0 });
  const programs = {
    'program.mjs': `import { AnimalStore } from '@animal-store/client';${calls}`,
    'program.cjs': commonJsSample,
  };
  for (const [file, text] of Object.entries(programs)) {
    await Bun.write(join(folder.path, file), text);
    const environment = ['env', `ANIMAL_STORE_URL=${app.url}/v1`, `ANIMAL_STORE_KEY=${app.key}`];
    const ended = await run([...environment, 'node', file], folder.path);
    expect(ended).toEqual({ exitCode: 0, output: file === 'program.cjs' ? '1\n' : 'Ozzy true\n' });
  }
  await Bun.write(
    join(folder.path, 'program.cts'),
    `import { AnimalStore } from '@animal-store/client';${calls}`,
  );
  const strict = ['--ignoreConfig', '--noEmit', '--strict', '--module', 'node16', '--target', 'es2022'];
  const types = ['--typeRoots', join(root, 'node_modules/@types'), '--types', 'node'];
  const compiler = [join(root, 'node_modules/typescript/bin/tsc'), ...strict, ...types, 'program.cts'];
  expect(await run(compiler, folder.path)).toEqual({ exitCode: 0, output: '' });
});
