import { expect, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import { type ImportReport as Report, sharedWorkplace } from '../support/cli.ts';

const place = await sharedWorkplace();

test('rejected CSV rows are written unchanged, and can be imported after corrections', async () => {
  const name = await place.write('first.csv', 'categoryId,name\n1,A\nx,Bo\n1,"C\n1,"D ""d""",\n');
  const report = await place.json<Report>('import', name, '--rejects', 'rejects.csv');
  expect(report).toMatchObject({ added: 1, rejected: 3, rejects: 'rejects.csv' });
  const rejects = await readFile(place.path('rejects.csv'), 'utf8');
  const quotes = '"has a misplaced quote: enclose the whole field in quotes, and double any quote inside it"';
  expect(rejects).toBe(
    'line,reason,categoryId,name\n' +
      '3,"categoryId must be an integer from -9223372036854775808 to 9223372036854775807, not x",x,Bo\n' +
      `4,${quotes},1,"C\n` +
      '5,"has 3 fields, but the header has 2",1,"D ""d""",\n',
  );
  const repaired = rejects.replace(',x,Bo', ',7,Bo').replace('1,"C', '1,C').replace('""",', '"""');
  const again = await place.json<Report>('import', await place.write('rejects.csv', repaired));
  expect(again).toMatchObject({ added: 3, rejected: 0, firstLine: 2, lastLine: 4 });
  expect(await place.lastRows(3)).toEqual([
    '{"name":"Bo","categoryId":7,"status":"available"}',
    '{"name":"C","categoryId":1,"status":"available"}',
    '{"name":"D \\"d\\"","categoryId":1,"status":"available"}',
  ]);
});

test('the audit log records the file name and the number of rows of an import', async () => {
  const name = await place.write('logged.csv', 'name,categoryId\nA,1\n,1\n');
  await place.json<Report>('import', name);
  const { stdout } = await place.run(['audit', 'list', '--limit', '1']);
  expect(stdout).toMatch(/ importPets +import:\w+ +logged\.csv: 1 added, 1 rejected\n$/);
});

test('rejected NDJSON rows are written unchanged, each with its line number and reason', async () => {
  const name = await place.write('first.ndjson', '{"name":"","categoryId":1}\n{}\nno json\n');
  await place.json<Report>('import', name, '--rejects', 'rejects.ndjson');
  const rejects = await readFile(place.path('rejects.ndjson'), 'utf8');
  expect(rejects.split('\n')).toEqual([
    '{"line":1,"reason":"name must not be empty","name":"","categoryId":1}',
    '{"line":2,"reason":"name is required; categoryId is required"}',
    expect.stringMatching(/^\{"line":3,"reason":"is not valid JSON: .*",no json$/),
    '',
  ]);
  const repaired = rejects.replace('"name":""', '"name":"Al"');
  const again = await place.json<Report>(
    'import',
    await place.write('second.ndjson', repaired),
    '--rejects',
    'third.ndjson',
  );
  expect(again).toMatchObject({ added: 1, rejected: 2 });
  expect(await place.lastRows(1)).toEqual(['{"name":"Al","categoryId":1,"status":"available"}']);
  const third = await readFile(place.path('third.ndjson'), 'utf8');
  expect(third.split('\n')[0]).toBe('{"line":2,"reason":"name is required; categoryId is required"}');
});

test('--rejects overwrites an existing file only with --force, and never the imported file', async () => {
  const name = await place.write('mine.csv', 'name,categoryId\n,1\n');
  expect(
    await place.failure(1, 'import', name, '--rejects', await place.write('other.csv', 'precious')),
  ).toBe('animal-store: other.csv already exists. Use --force to replace it, or choose another file.\n');
  expect(await place.failure(2, 'import', name, '--rejects', './mine.csv', '--force')).toContain(
    'is the file being imported',
  );
  expect(await readFile(place.path('other.csv'), 'utf8')).toBe('precious');
  expect((await place.run(['import', name, '--rejects', 'other.csv', '--force'])).exitCode).toBe(0);
  expect(await readFile(place.path('other.csv'), 'utf8')).toBe(
    'line,reason,name,categoryId\n2,name must not be empty,,1\n',
  );
});

test('import adds no animals if the file for rejected rows cannot be written', async () => {
  const name = await place.write('nowhere.csv', 'name,categoryId\nNowhere,1\n');
  expect(await place.failure(1, 'import', name, '--rejects', 'nowhere/rejects.csv')).toBe(
    'animal-store: Cannot write nowhere/rejects.csv: ENOENT: no such file or directory.\n',
  );
  expect((await place.json<Report>('import', name)).added).toBe(1);
});
