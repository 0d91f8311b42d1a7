import { expect, setDefaultTimeout, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import { total } from '../../src/contract/inventory.ts';
import { type Child, ended, type ImportReport, newWorkplace, type Workplace } from '../support/cli.ts';
import { operatorOf } from '../support/process.ts';
import { testTimeoutMs, until } from '../support/wait.ts';

setDefaultTimeout(testTimeoutMs);

/** Enough rows for an import to be caught in the middle; every 47th has no name. */
const rowCount = 45_000;
const rowsOf = (from: number, to: number) =>
  Array.from(
    { length: to - from },
    (_, row) => `${(from + row) % 47 === 0 ? '' : `n${from + row}`},${row},sold\n`,
  );
const rows = rowsOf(0, rowCount);
const rejectedCount = rows.filter((row) => row.startsWith(',')).length;
const addedCount = rowCount - rejectedCount;
const content = `name,categoryId,status\n${rows.join('')}`;

/** Resolves when at least that many animals are committed. */
async function committed(place: Workplace, child: Child, count: number): Promise<void> {
  await using admin = await operatorOf(place.folder);
  await until(async () => {
    if (child.exitCode !== null) throw new Error('The import ended before it could be broken off.');
    return total(await admin.storage.pets.inventory()) >= count;
  });
}

/** Every sound row once, in order. */
async function expectAllInOnce(place: Workplace): Promise<void> {
  expect(await place.json<object>('export', 'out.csv')).toEqual({ file: 'out.csv', exported: addedCount });
  const exported = await readFile(place.path('out.csv'), 'utf8');
  expect(exported === `name,categoryId,status\n${rows.filter((row) => !row.startsWith(',')).join('')}`).toBe(
    true,
  );
}

test('kill -9 in the middle: the same command goes on behind the last committed line, and every row is in once', async () => {
  await using place = await newWorkplace();
  await Bun.write(place.path('pets.csv'), content);
  const sums = { added: 0, rejected: 0 };
  // Soon, each time, so that most of it is still to come when the signal arrives.
  for (const count of [1, 5_000]) {
    const child = place.start(['import', 'pets.csv', '--rejects', 'rejects.csv', '--force']);
    await committed(place, child, count);
    child.kill('SIGKILL');
    expect((await ended(child)).exitCode).toBe(137);
  }
  const { exitCode, stdout, stderr } = await place.run([
    'import',
    'pets.csv',
    '--rejects',
    'rejects.csv',
    '--force',
  ]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  const [, last = '', added = '', rejected = ''] =
    /^Resuming pets\.csv after line (\d+): imported ([\d,]+), rejected ([\d,]+) so far\.\n/.exec(stdout) ??
    [];
  expect(Number(last)).toBeGreaterThan(5_000);
  expect(stdout).toContain(` (lines ${Number(last) + 1}–${rowCount + 1}).\n`);
  const [, addedNow = '', rejectedNow = ''] =
    /pets\.csv: imported ([\d,]+), rejected ([\d,]+)/.exec(stdout) ?? [];
  sums.added = count(added) + count(addedNow);
  sums.rejected = count(rejected) + count(rejectedNow);
  expect(sums).toEqual({ added: addedCount, rejected: rejectedCount });
  await expectAllInOnce(place);
  // The file of rejected rows is whole too, though three runs wrote it.
  const rejects = (await readFile(place.path('rejects.csv'), 'utf8')).trimEnd().split('\n');
  expect(rejects).toHaveLength(1 + rejectedCount);
  expect(rejects[1]).toBe('2,name must not be empty,,0,sold');
  expect(await place.json<ImportReport>('import', 'pets.csv')).toMatchObject({
    status: 'already-complete',
    added: 0,
    total: { added: addedCount, rejected: rejectedCount },
  });
});

test('SIGINT finishes the running group, says what is in and how to go on, with exit code 1', async () => {
  await using place = await newWorkplace();
  await Bun.write(place.path('pets.csv'), content);
  const child = place.start(['import', 'pets.csv', '--json']);
  await committed(place, child, 1);
  child.kill('SIGINT');
  const broken = await ended(child);
  expect(broken.exitCode).toBe(1);
  expect(broken.stderr).toEndWith(
    '{"error":{"message":"Interrupted. To resume, run the same command again."}}\n',
  );
  const first = JSON.parse(broken.stdout) as ImportReport;
  expect(first.status).toBe('interrupted');
  expect(first.added + first.rejected).toBe(first.lastLine - 1);
  const wrong = await place.run(['import', 'pets.csv', '--from-line', '9']);
  expect(wrong).toMatchObject({ exitCode: 2, stdout: '' });
  expect(wrong.stderr).toContain(`An import of pets.csv was interrupted after line ${first.lastLine}.`);
  // --again does not begin anew what is not finished: the command that was broken off can be repeated as it was.
  const second = await place.json<ImportReport>('import', 'pets.csv', '--again');
  expect(second).toMatchObject({
    status: 'complete',
    firstLine: first.lastLine + 1,
    firstId: (first.lastId ?? 0) + 1,
    total: { added: addedCount, rejected: rejectedCount },
  });
  await expectAllInOnce(place);
});

test('standard input broken off names the line to go on from, and --from-line goes on there', async () => {
  await using place = await newWorkplace();
  const child = place.start(['import', '-', '--format', 'csv']);
  child.stdin.write(content);
  await child.stdin.flush();
  await committed(place, child, 30_000);
  child.kill('SIGTERM');
  const { exitCode, stderr } = await ended(child);
  expect(exitCode).toBe(1);
  const [, line = ''] = /To resume, send the same input again with --from-line (\d+)\.\n$/.exec(stderr) ?? [];
  expect(Number(line)).toBeGreaterThan(30_000);
  const args = ['import', '-', '--format', 'csv', '--from-line', line];
  expect((await place.run(args, { stdin: content })).exitCode).toBe(0);
  await expectAllInOnce(place);
});

test('two imports of the same file at once never add a row twice: one of them gives way', async () => {
  await using place = await newWorkplace();
  await Bun.write(place.path('pets.csv'), content);
  const both = [place.start(['import', 'pets.csv']), place.start(['import', 'pets.csv'])];
  const results = await Promise.all(both.map(ended));
  expect(results.map(({ exitCode }) => exitCode)).toContain(0);
  for (const { exitCode, stderr } of results) {
    if (exitCode !== 0) expect(stderr).toContain('Another import of the same input is running');
  }
  await expectAllInOnce(place);
});

function count(text: string): number {
  return Number(text.replaceAll(',', ''));
}
