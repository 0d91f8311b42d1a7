import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { readFile, symlink } from 'node:fs/promises';
import { commandLine, type ImportReport, newWorkplace, type Workplace } from '../support/cli.ts';
import { settingsIn } from '../support/process.ts';

// Processes start slowly on a busy machine.
setDefaultTimeout(20_000);

let place: Workplace;
beforeAll(async () => {
  place = await newWorkplace();
});
afterAll(() => place[Symbol.asyncDispose]());

/** Names that formats are known to lose something of. */
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

const text = (name: string) => readFile(place.path(name), 'utf8');

test('export → import → export is the same to the byte, in both formats and from one to the other', async () => {
  const rows = names.map((name, row) => {
    const categoryId = row % 2 === 0 ? '9223372036854775807' : '-9223372036854775808';
    return `{"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${['sold', 'pending'][row % 2]}"}\n`;
  });
  await Bun.write(place.path('names.ndjson'), rows.join(''));
  expect(await place.json<ImportReport>('import', 'names.ndjson')).toMatchObject({
    added: names.length,
    rejected: 0,
  });
  await place.json('export', 'one.csv');
  await place.json('export', 'one.ndjson');
  expect(await text('one.ndjson')).toBe(rows.join(''));

  await using other = await newWorkplace();
  await other.json('import', place.path('one.csv'));
  await other.json('export', place.path('two.csv'));
  await other.json('export', place.path('two.ndjson'));
  expect(await text('two.csv')).toBe(await text('one.csv'));
  expect(await text('two.ndjson')).toBe(rows.join(''));
});

test('the report has the count, and only a whole file has its name', async () => {
  const { stdout, stderr, exitCode } = await place.run(['export', 'count.csv']);
  expect({ stdout, stderr, exitCode }).toEqual({
    stdout: `${names.length} animals written to count.csv.\n`,
    stderr: '',
    exitCode: 0,
  });
  expect(await text('count.csv')).toStartWith('name,categoryId,status\nÓlafur,9223372036854775807,sold\n');
  expect((await place.files()).filter((name) => name.includes('partial'))).toEqual([]);
});

test('a file that is there is written over with --force only; a link stays one', async () => {
  await Bun.write(place.path('there.csv'), 'precious');
  const refused = await place.run(['export', 'there.csv']);
  expect(refused).toMatchObject({ exitCode: 1, stdout: '' });
  expect(refused.stderr).toBe(
    'animal-store: there.csv exists already. --force replaces it, or name another file.\n',
  );
  expect(await text('there.csv')).toBe('precious');
  await symlink(place.path('there.csv'), place.path('link.csv'));
  expect(await place.json<object>('export', 'link.csv', '--force')).toEqual({
    file: 'link.csv',
    exported: names.length,
  });
  expect(await text('there.csv')).toBe(await text('count.csv'));
  const device = await place.run(['export', '/dev/null', '--format', 'csv', '--force']);
  expect(device).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('is no regular file') });
});

test('a folder that is not there is named', async () => {
  const { exitCode, stderr } = await place.run(['export', 'nowhere/pets.csv']);
  expect(exitCode).toBe(1);
  expect(stderr).toBe('animal-store: Cannot write nowhere/pets.csv: ENOENT: no such file or directory.\n');
});

test('--escape-formulas keeps spreadsheets from running names; without it names are exact', async () => {
  await using other = await newWorkplace();
  const dangerous = ['=cmd|calc', '+1', '-1', '@SUM(A1)', '\t=1'];
  const harmless = ['Ozzy', "'=1", 'a=b'];
  const rows = [...dangerous, ...harmless].map((name) => `{"name":${JSON.stringify(name)},"categoryId":1}\n`);
  // A tab is a control character, which no name has.
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
  expect(json).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('is for CSV') });
});

test('to standard output goes nothing but animals; the report goes to standard error', async () => {
  const { stdout, stderr } = await place.run(['export', '-', '--format', 'ndjson', '--json']);
  expect(stdout).toBe(await text('one.ndjson'));
  expect(JSON.parse(stderr)).toEqual({ file: '-', exported: names.length });
});

test('a reader that has seen enough ends an export quietly', async () => {
  const many = Array.from({ length: 20_000 }, (_, row) => `many ${row},1,sold\n`);
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

test('an export that is interrupted leaves no file', async () => {
  const child = place.start(['export', 'broken.csv']);
  while (!(await place.files()).some((name) => name.includes('partial'))) await Bun.sleep(1);
  child.kill('SIGINT');
  const [exitCode, stderr] = await Promise.all([child.exited, new Response(child.stderr).text()]);
  const files = (await place.files()).filter((name) => name.startsWith('broken'));
  // It may have been done by the time the signal came.
  if (exitCode === 0) expect(files).toEqual(['broken.csv']);
  else
    expect({ stderr, files }).toEqual({
      stderr: 'animal-store: Interrupted. broken.csv is not written.\n',
      files: [],
    });
});
