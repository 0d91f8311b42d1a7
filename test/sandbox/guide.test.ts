/** Follows docs/guides/sandbox.md as a reader would: the commands, the program, and the tests in each test runner. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { join } from 'node:path';
import { startSandbox } from '../../client/src/sandbox.ts';
import { installClient } from '../support/client-package.ts';
import { type TemporaryFolder, temporaryFolder } from '../support/folder.ts';
import { root, start } from '../support/process.ts';
import { rejectionOf } from '../support/rejection.ts';
import { testWith } from '../support/requirements.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';

const page = await Bun.file(join(root, 'docs/guides/sandbox.md')).text();

let sandbox: TestSandbox;
let folder: TemporaryFolder;
beforeAll(async () => {
  sandbox = await startTestSandbox();
  folder = await temporaryFolder();
  await installClient(folder.path, { commonJs: true });
});
beforeEach(() => sandbox.steered('POST', '/reset'));
afterAll(async () => {
  await folder[Symbol.asyncDispose]();
  await sandbox[Symbol.asyncDispose]();
});

/** The code block below a comment. */
function blockBelow(comment: string): string {
  const [, text] = new RegExp(`<!-- ${comment} -->\n\`\`\`\\w+\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(page) ?? [];
  if (text === undefined) throw new Error(`There is no ${comment} in docs/guides/sandbox.md.`);
  return text;
}

/** The text between the opening and closing comment with this name. */
function between(name: string): string {
  return page.slice(page.indexOf(`<!-- ${name}`), page.indexOf(`<!-- /${name.replace(/:.*/, '')} -->`));
}

/** Runs a program in the folder, checks that it succeeds, and returns its output. */
async function run(command: readonly string[]): Promise<string> {
  const environment = { SANDBOX: sandbox.url, KEY: sandbox.accounts[0]?.key ?? '', HOME: folder.path };
  await using program = start(command, { environment, cwd: folder.path });
  const exitCode = await program.exited;
  expect({ exitCode, errors: exitCode === 0 ? '' : program.stdout() + program.stderr() }).toEqual({
    exitCode: 0,
    errors: '',
  });
  return program.stdout();
}

/** Returns a pattern that matches the text, in which … stands for any characters. */
function pattern(expected: string): RegExp {
  const literal = expected.trim().replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^\\s*${literal.replace(/…/g, '[\\s\\S]*')}\\s*$`);
}

/** Code blocks in the given language, each paired with the output block that follows it. */
function steps(text: string, language: string): { code: string; output: string }[] {
  const step = new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\`\n(?:\`\`\`\n([\\s\\S]*?)\`\`\`\n)?`, 'g');
  return [...text.matchAll(step)].map(([, code = '', output = '']) => ({ code, output }));
}

testWith({ name: 'curl with --json', package: 'curl' }, ['curl', '--json', '{}', '--version'])(
  'the commands of the sandbox guide print the documented output',
  async () => {
    const [settings, ...commands] = steps(between('tour'), 'sh');
    expect(settings?.code).toContain('export SANDBOX=');
    expect(commands).toHaveLength(4);
    for (const { code, output } of commands) {
      expect((await run(['sh', '-c', code])).replaceAll('\r', '')).toMatch(pattern(output));
    }
  },
);

test('the program of the sandbox guide prints the documented output', async () => {
  const parts = steps(between('program: robust'), 'ts');
  expect(parts).toHaveLength(6);
  await Bun.write(join(folder.path, 'robust.ts'), parts.map(({ code }) => code).join('\n'));
  const output = await run([process.execPath, 'robust.ts']);
  expect(output).toBe(parts.map(({ output: printed }) => printed).join(''));
});

test("the guide's test for Vitest passes under bun test, which has the same functions", async () => {
  const text = blockBelow('file: vitest').replace("from 'vitest'", "from 'bun:test'");
  await Bun.write(join(folder.path, 'bun.test.ts'), text);
  await run([process.execPath, 'test', 'bun.test.ts']);
});

/** The guide's test in JavaScript with the import line for a test runner. */
function testWithImport(line: string): string {
  expect(blockBelow('runners').split('\n')).toContain(line);
  return `${line}\n${blockBelow('file: vitest')
    .replace(/^import .*\n/gm, '')
    .replace(': Sandbox', '')}`;
}

test("the guide's test for Jest passes under bun test, which provides Jest's functions", async () => {
  const text = testWithImport("const { startSandbox } = require('@animal-store/client/sandbox');");
  await Bun.write(join(folder.path, 'jest.test.cjs'), text);
  await run([process.execPath, 'test', 'jest.test.cjs']);
});

test('startSandbox starts a sandbox that can open isolated stores and be stopped', async () => {
  const command = [process.execPath, join(root, 'src/main.ts')];
  await using started = await startSandbox({ command }).then((running) => ({
    running,
    [Symbol.asyncDispose]: () => running.stop(),
  }));
  const { running } = started;
  const other = await running.openStore();
  const reader = await other.account({ plan: 'pro', scopes: ['pets:read'] });
  await running.misbehave('status=503');
  expect(await reader.client().inventory.get()).toMatchObject({ available: 0 });
  await other.advance(60);
  await other.reset();
  const third = await other.openStore();
  await third.stop();
  await other.stop();
  expect(await rejectionOf(fetch(`${other.url}/livez`))).toBeInstanceOf(Error);
  expect(await running.requests()).toEqual([]);
  const wrong = startSandbox({ command: [process.execPath, '--print', '1/0'] });
  expect(String(await rejectionOf(wrong))).toContain('The sandbox');
});

testWith({ name: 'Node.js 20', package: 'nodejs' }, [
  'node',
  '-e',
  'process.exit(+(+process.versions.node.split(".")[0] < 20))',
])("the guide's test for node:test passes", async () => {
  const text = testWithImport("import { after as afterAll, before as beforeAll, test } from 'node:test';");
  const imports =
    "import assert from 'node:assert/strict';\nimport { startSandbox } from '@animal-store/client/sandbox';\n";
  const asserting = text.replace(/expect\((.*)\)\.toEqual\((.*)\);/, 'assert.deepEqual($1, $2);');
  await Bun.write(join(folder.path, 'node.test.mjs'), `${imports}${asserting}`);
  expect(await run(['node', '--test', 'node.test.mjs'])).toMatch(/# pass 1|pass 1/);
});

testWith({ name: 'pytest', package: 'python3-pytest', optional: true }, [
  'python3',
  '-m',
  'pytest',
  '--version',
])("the guide's test for pytest passes", async () => {
  await Bun.write(join(folder.path, 'test_sandbox.py'), blockBelow('file: pytest'));
  expect(await run(['python3', '-m', 'pytest', '-q', '-p', 'no:cacheprovider', 'test_sandbox.py'])).toContain(
    '3 passed',
  );
});
