/** Runs the programs in examples/ that use the client. */
import { afterAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
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
  expect({ ...first, lines: first.lines.map((line) => line.replace(/\d/, 'N')).sort() }).toEqual({
    exitCode: 0,
    lines: ['Added Maple with the id N.', 'Added Ozzy with the id N.'],
    stderr: '',
  });
  expect(await run(app, 'examples/add-animals.ts', file)).toEqual({
    exitCode: 0,
    lines: [''],
    stderr: expect.stringMatching(/^2 lines were added earlier/),
  });
  // As if a crash had prevented the last record.
  const [id, , item] = readFileSync(`${file}.added`, 'utf8').split('\n');
  await Bun.write(`${file}.added`, `${id}\n\n${item}\n\n${item?.slice(0, 9)}`);
  expect((await run(app, 'examples/add-animals.ts', file)).lines).toEqual([expect.stringMatching(/^Added /)]);
  const { exitCode, lines } = await run(app, 'examples/list-animals.ts');
  expect(exitCode).toBe(0);
  expect(lines.map((line) => line.replace(/^\d/, 'N')).sort()).toEqual([
    'N\tMaple\t7\tavailable',
    'N\tOzzy\t9223372036854775807\tavailable',
  ]);
});

test('add-animals reports rejected lines, and adds only these when they were corrected', async () => {
  await using app = await startTestApp();
  const file = join(folder.path, 'mistakes.tsv');
  await Bun.write(file, '\uFEFFRex\t7\r\nRex\t7\r\nKim\tcats\r\nMax\t9223372036854775808\r\n');
  const { exitCode, lines } = await run(app, 'examples/add-animals.ts', file);
  expect(exitCode).toBe(1);
  expect(lines.filter((line) => line.startsWith('Added Rex with the id '))).toHaveLength(2);
  expect(lines).toContain('Line 3: This is not a name, a tab and a category id.');
  expect(lines.find((line) => line.startsWith('Line 4: '))).toContain('categoryId');
  await Bun.write(file, 'Rex\t7\nRex\t7\nKim\t8\nMax\t9\n');
  expect(await run(app, 'examples/add-animals.ts', file)).toMatchObject({ exitCode: 0 });
  const names = ((await app.call('GET', '/pets')).json as { name: string }[]).map(({ name }) => name);
  expect(names.sort()).toEqual(['Kim', 'Max', 'Rex', 'Rex']);
});

test('add-animals adds each animal once if several runs begin at the same time', async () => {
  await using app = await startTestApp();
  const file = join(folder.path, 'several runs.tsv');
  await Bun.write(file, 'Rex\t7\nKim\t8\n');
  const runs = await Promise.all(Array.from({ length: 4 }, () => run(app, 'examples/add-animals.ts', file)));
  expect(runs.map(({ exitCode }) => exitCode)).toEqual(runs.map(() => 0));
  expect((await app.call('GET', '/pets')).json).toHaveLength(2);
});
