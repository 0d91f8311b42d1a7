/** Runs the programs in examples/ that use the client. */
import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { startTestApp, type TestApp } from '../support/app.ts';
import { temporaryFolder } from '../support/folder.ts';
import { start } from '../support/process.ts';

const folder = await temporaryFolder();
afterAll(() => folder[Symbol.asyncDispose]());

async function run(app: TestApp, ...command: string[]) {
  const environment = { API: app.url, KEY: app.key };
  await using program = start([process.execPath, ...command], { environment });
  return {
    exitCode: await program.exited,
    lines: program.stdout().trimEnd().split('\n'),
    stderr: program.stderr(),
  };
}

test('add-animals adds each animal once even if it is run repeatedly, and list-animals lists all animals', async () => {
  await using app = await startTestApp();
  const file = join(folder.path, 'today’s arrivals.tsv');
  await Bun.write(file, 'Ozzy\t9223372036854775807\nMaple\t7\n');
  const first = await run(app, 'examples/add-animals.ts', file);
  // Concurrent requests finish in any order.
  expect({ ...first, lines: first.lines.map((line) => line.replace(/\d/, 'N')) }).toEqual({
    exitCode: 0,
    lines: ['Added Ozzy with the id N.', 'Added Maple with the id N.'],
    stderr: '',
  });
  expect(await run(app, 'examples/add-animals.ts', file)).toEqual(first);
  const { exitCode, lines } = await run(app, 'examples/list-animals.ts');
  expect(exitCode).toBe(0);
  expect(lines.map((line) => line.replace(/^\d/, 'N')).sort()).toEqual([
    'N\tMaple\t7\tavailable',
    'N\tOzzy\t9223372036854775807\tavailable',
  ]);
});

test('add-animals adds nothing if a line cannot be read', async () => {
  await using app = await startTestApp();
  const file = join(folder.path, 'mistakes.tsv');
  await Bun.write(file, 'Rex\t7\n\t7\nKim\tcats\nMax\n');
  const { exitCode, stderr } = await run(app, 'examples/add-animals.ts', file);
  expect(exitCode).toBe(1);
  expect(stderr).toEndWith(' a name, a tab and a category id: 2, 3, 4\n');
  expect((await app.call('GET', '/pets')).json).toEqual([]);
});

test('add-animals reports a line that the service rejects, and adds the animals of all other lines', async () => {
  await using app = await startTestApp();
  const file = join(folder.path, 'rejected.tsv');
  await Bun.write(file, '\uFEFFRex\t7\r\nKim\t9223372036854775808\r\n');
  const { exitCode, lines, stderr } = await run(app, 'examples/add-animals.ts', file);
  expect(exitCode).toBe(1);
  expect(lines[0]).toStartWith('Added Rex with the id ');
  expect(lines[1]).toStartWith('Line 2: The request body is invalid: categoryId ');
  expect(stderr).toStartWith('Put the corrected lines into a new file: ');
});
