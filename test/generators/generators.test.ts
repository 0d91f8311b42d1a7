/** What clients that generate their code get out of the document, with each of four generators. */
import { beforeAll, describe, expect, test } from 'bun:test';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { int64Max } from '../../src/contract/json.ts';
import { startTestApp } from '../support/app.ts';
import { packagesInstalled } from '../support/packages.ts';
import { type Ended, finished, root } from '../support/process.ts';

const folder = import.meta.dir;
const generated = join(folder, 'programs/generated');
const document = join(root, 'contract/openapi.json');

/** The command that writes each client. Bun runs those that need a newer Node.js than this project asks for. */
const generators = {
  'openapi-typescript': ['openapi-typescript', document, '-o', join(generated, 'openapi-typescript.d.ts')],
  'hey-api': ['openapi-ts', '-i', document, '-o', join(generated, 'hey-api'), '-c', '@hey-api/client-fetch'],
  orval: ['orval', '--input', document, '--output', join(generated, 'orval.ts'), '--client', 'fetch'],
  'swagger-typescript-api': [
    ...['swagger-typescript-api', 'generate', '-p', document, '-o', generated],
    ...['-n', 'swagger-typescript-api.ts'],
  ],
} as const;

const silent = { exitCode: 0, stdout: '', stderr: '' };

const run = (command: readonly string[]) => finished(command, { cwd: folder });

describe.skipIf(!(await packagesInstalled(folder, 'The client generators')))('a generated client', () => {
  const outcomes = new Map<string, Ended>();
  beforeAll(async () => {
    await rm(generated, { recursive: true, force: true });
    await mkdir(generated, { recursive: true });
    for (const [name, [program, ...args]] of Object.entries(generators)) {
      const command = [process.execPath, '--bun', join(folder, 'node_modules/.bin', program), ...args];
      outcomes.set(name, await run(command));
    }
  });

  test.each(Object.keys(generators))('comes of %s', (name) => {
    expect(outcomes.get(name)).toMatchObject({ exitCode: 0 });
  });

  test('has the errors of getPet as a union that the compiler narrows, and lets a new animal leave out its status', async () => {
    expect(await run([join(root, 'node_modules/.bin/tsc'), '-p', folder])).toEqual(silent);
  });

  test('of openapi-fetch, with a parser that rounds nothing, keeps every digit of an int64', async () => {
    await using app = await startTestApp();
    const program = join(folder, 'programs/exact-integers.js');
    expect(await run([process.execPath, program, `${app.url}/v1`, app.key, `${int64Max}`])).toEqual({
      ...silent,
      stdout: `{"id":1,"name":"Ozzy","categoryId":${int64Max},"status":"available"}\n1 animal, the same\npet_not_found\n`,
    });
  });
});
