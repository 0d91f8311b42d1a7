import { expect, test } from 'bun:test';
import { readFile, symlink } from 'node:fs/promises';
import {
  type Child,
  commandLine,
  ended,
  type ImportReport,
  newWorkplace,
  type Workplace,
} from '../support/cli.ts';
import { lockOutReaders } from '../support/lock.ts';
import { dataFileIn, operatorOf, settingsIn } from '../support/process.ts';
import { until } from '../support/wait.ts';

/** Names that need quoting or escaping in some formats. */
const names = [
  'Ólafur',
  '\\',
  'Georgia "George"',
  '"',
  '""',
  'a,b',
  ' leading and trailing ',
  '\u00a0no-break\u00a0',
  'line\u2028separator\u2029',
  '\ufeffmark',
  "'=1+1",
  '👩‍👩‍👧',
  'e\u0301 is not é',
  'name,categoryId,status',
  '{"name":"x"}',
];

const rows = names.map((name, row) => ({
  name,
  categoryId: row % 2 === 0 ? 2n ** 63n - 1n : -(2n ** 63n),
  status: row % 2 === 0 ? ('sold' as const) : ('pending' as const),
}));

/** The same animals as NDJSON. */
const ndjson = rows
  .map(
    ({ name, categoryId, status }) =>
      `{"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}\n`,
  )
  .join('');

/** A working folder whose store contains these animals. */
async function filledWorkplace(): Promise<Workplace> {
  const place = await newWorkplace();
  await using admin = await operatorOf(place.folder);
  for (const pet of rows) await admin.storage.write('createPet', { now: 0, body: pet });
  return place;
}

const textAt = (place: Workplace, name: string) => readFile(place.path(name), 'utf8');

test('exporting, importing and exporting again produces identical bytes, even with different formats', async () => {
  await using place = await newWorkplace();
  await Bun.write(place.path('names.ndjson'), ndjson);
  expect(await place.json<ImportReport>('import', 'names.ndjson')).toMatchObject({
    added: names.length,
    rejected: 0,
  });
  await place.json('export', 'one.csv');
  await place.json('export', 'one.ndjson');
  expect(await textAt(place, 'one.ndjson')).toBe(ndjson);

  await using other = await newWorkplace();
  await other.json('import', place.path('one.csv'));
  await other.json('export', 'two.csv');
  await other.json('export', 'two.ndjson');
  expect(await textAt(other, 'two.csv')).toBe(await textAt(place, 'one.csv'));
  expect(await textAt(other, 'two.ndjson')).toBe(ndjson);
});

test('export prints the number of animals, and gives the file its final name only when it is complete', async () => {
  await using place = await filledWorkplace();
  const { stdout, stderr, exitCode } = await place.run(['export', 'count.csv']);
  expect({ stdout, stderr, exitCode }).toEqual({
    stdout: `Exported ${names.length} animals to count.csv.\n`,
    stderr: '',
    exitCode: 0,
  });
  expect(await textAt(place, 'count.csv')).toStartWith(
    'name,categoryId,status\nÓlafur,9223372036854775807,sold\n',
  );
  expect((await place.files()).filter((name) => name.includes('partial'))).toEqual([]);
});

test('export overwrites an existing file only with --force, and preserves symbolic links', async () => {
  await using place = await filledWorkplace();
  await Bun.write(place.path('there.csv'), 'precious');
  expect(await place.failure(1, 'export', 'there.csv')).toBe(
    'animal-store: there.csv already exists. Use --force to replace it, or choose another file.\n',
  );
  expect(await textAt(place, 'there.csv')).toBe('precious');
  await symlink(place.path('there.csv'), place.path('link.csv'));
  expect(await place.json<object>('export', 'link.csv', '--force')).toEqual({
    file: 'link.csv',
    exported: names.length,
  });
  expect(await textAt(place, 'there.csv')).toStartWith(
    'name,categoryId,status\nÓlafur,9223372036854775807,sold\n',
  );
  const device = await place.run(['export', '/dev/null', '--format', 'csv', '--force']);
  expect(device).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('is not a regular file') });
});

test('export to a missing folder fails with an error', async () => {
  await using place = await filledWorkplace();
  const { exitCode, stderr } = await place.run(['export', 'nowhere/pets.csv']);
  expect(exitCode).toBe(1);
  expect(stderr).toBe('animal-store: Cannot write nowhere/pets.csv: ENOENT: no such file or directory.\n');
});

test('--escape-formulas keeps spreadsheets from evaluating names; without it, names are unchanged', async () => {
  await using other = await newWorkplace();
  const dangerous = ['=cmd|calc', '+1', '-1', '@SUM(A1)', '\t=1'];
  const harmless = ['Ozzy', "'=1", 'a=b'];
  const rows = [...dangerous, ...harmless].map((name) => `{"name":${JSON.stringify(name)},"categoryId":1}\n`);
  // The name with a tab is rejected, because names must not contain control characters.
  await other.write('names.ndjson', rows.join(''));
  expect(await other.json<ImportReport>('import', 'names.ndjson')).toMatchObject({ added: 7, rejected: 1 });
  await other.json('export', 'escaped.csv', '--escape-formulas');
  await other.json('export', 'exact.csv');
  const namesIn = async (file: string) =>
    (await readFile(other.path(file), 'utf8'))
      .split('\n')
      .slice(1, -1)
      .map((row) => row.split(',')[0]);
  const kept = dangerous.slice(0, -1);
  expect(await namesIn('escaped.csv')).toEqual([...kept.map((name) => `'${name}`), ...harmless]);
  expect(await namesIn('exact.csv')).toEqual([...kept, ...harmless]);
  const json = await other.run(['export', 'x.ndjson', '--escape-formulas']);
  expect(json).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('applies to CSV only') });
});

test('export writes only animals to standard output, and its report to standard error', async () => {
  await using place = await filledWorkplace();
  const { stdout, stderr } = await place.run(['export', '-', '--format', 'ndjson', '--json']);
  expect(stdout).toBe(ndjson);
  expect(JSON.parse(stderr)).toEqual({ file: '-', exported: names.length });
});

test('export exits without an error when the reader closes the pipe', async () => {
  await using place = await newWorkplace();
  const many = Array.from({ length: 10_000 }, (_, row) => `many ${row},1,sold\n`);
  await Bun.write(place.path('many.csv'), `name,categoryId,status\n${many.join('')}`);
  await place.json('import', 'many.csv');
  const [bun, main] = commandLine;
  const script = '("$0" "$1" export - --format csv; echo "exit $?" >&2) | head -n 1';
  const shell = Bun.spawn(['sh', '-c', script, bun, main], {
    env: { PATH: process.env.PATH ?? '', ...settingsIn(place.folder) },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  expect(await new Response(shell.stdout).text()).toBe('name,categoryId,status\n');
  expect(await new Response(shell.stderr).text()).toBe('exit 0\n');
});

test('an interrupted export leaves no file behind', async () => {
  await using place = await filledWorkplace();
  let child: Child;
  {
    // The command creates its temporary file, then waits for the locked store until it is interrupted.
    using _held = lockOutReaders(dataFileIn(place.folder));
    child = place.start(['export', 'broken.csv']);
    await until(async () => (await place.files()).some((name) => name.includes('partial')));
    child.kill('SIGINT');
  }
  expect(await ended(child)).toEqual({
    exitCode: 1,
    stdout: '',
    stderr: 'animal-store: Interrupted. broken.csv was not written.\n',
  });
  expect((await place.files()).filter((name) => name.startsWith('broken'))).toEqual([]);
});

test('an export deletes the files left by killed exports to the same file, and no others', async () => {
  await using place = await filledWorkplace();
  // No process has these ids.
  await place.write('again.csv.4194998.partial', 'half');
  await place.write('again.csv.4194999.partial', 'half');
  await place.write('other.csv.4194999.partial', 'half');
  await place.output('export', 'again.csv');
  expect((await place.files()).filter((name) => name.includes('csv.'))).toEqual([
    'other.csv.4194999.partial',
  ]);
});
