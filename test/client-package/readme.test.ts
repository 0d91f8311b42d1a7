/** Runs the examples of the client's README. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { startTestApp } from '../support/app.ts';
import { compileStrictly, installClient } from '../support/client-package.ts';
import { temporaryFolder } from '../support/folder.ts';
import { root, start } from '../support/process.ts';

const readme = await Bun.file(join(root, 'client/README.md')).text();
const samples = new Map(
  [...readme.matchAll(/^<!-- sample: ([\w-]+) -->\n```ts\n([\s\S]*?)^```$/gm)].map(
    ([, name = '', text = '']) => [name, text],
  ),
);

const project = await temporaryFolder();
afterAll(() => project[Symbol.asyncDispose]());
const fileOf = (name: string) => join(project.path, `${name}.ts`);

beforeAll(async () => {
  await installClient(project.path);
  await Bun.write(join(project.path, 'package.json'), '{ "type": "module" }');
  for (const [name, text] of samples) await Bun.write(fileOf(name), text);
});

/** The output of a sample that runs with a new store, which has Ozzy and Rex in category 7. */
async function outputOf(name: string): Promise<string[]> {
  await using app = await startTestApp();
  for (const pet of ['Ozzy', 'Rex', 'Kim']) {
    await app.call('POST', '/pets', { body: `{"name":"${pet}","categoryId":${pet === 'Kim' ? 8 : 7}}` });
  }
  const { key } = await app.tenant('free');
  const environment = { ANIMAL_STORE_URL: app.url, ANIMAL_STORE_KEY: key };
  await using program = start([process.execPath, fileOf(name)], { environment });
  expect({ exitCode: await program.exited, stderr: program.stderr() }).toEqual({ exitCode: 0, stderr: '' });
  return program.stdout().trimEnd().split('\n');
}

const outputs: Readonly<Record<string, readonly string[]>> = {
  'first-call': ['4n available'],
  json: [
    '{"id":1,"name":"Ozzy","categoryId":7,"status":"available"} {',
    '  id: 9223372036854775807n,',
    '}',
    '{"id":"1","name":"Ozzy","categoryId":"7","status":"available"}',
  ],
  walk: ['Ozzy', 'Rex', 'Ozzy', '2 true', '1 false'],
  'create-once': ['true'],
  change: ['Pepper II', 'Another client changed the animal. Show the new version.'],
  orders: ['delivered', 'pet_not_available'],
  follow: ['1n Ozzy', '2n Rex', '3n Kim', '1 3n'],
  webhook: [''],
  pace: ['3', '60'],
  errors: ['name must not be empty'],
  abort: ['The page was closed.', '{', '  available: 3,', '  pending: 0,', '  sold: 0,', '}'],
  logging: ['GET /v1/inventory 1', '200 string', '3 200 true 60'],
};

for (const [name, output] of Object.entries(outputs)) {
  test(`the sample ${name} prints the documented output`, async () => {
    expect(await outputOf(name)).toEqual([...output]);
  });
}

test('the browser sample runs as a browser bundle', async () => {
  await using app = await startTestApp();
  const { outputs, success } = await Bun.build({
    entrypoints: [fileOf('browser')],
    target: 'browser',
    format: 'esm',
  });
  expect(success).toBe(true);
  const bundle = fileOf('bundle');
  await Bun.write(bundle, (await outputs[0]?.text()) ?? '');
  const { showInventory } = await import(bundle);
  expect(await showInventory(app.url, app.key)).toBe('0 animals are looking for a home.');
});

test('every sample in the README is tested and compiles in strict mode', async () => {
  expect([...samples.keys()]).toEqual([...Object.keys(outputs), 'browser']);
  await compileStrictly(...[...samples.keys()].map(fileOf));
});
