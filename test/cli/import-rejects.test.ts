import { expect, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import { type ImportReport as Report, sharedWorkplace } from '../support/cli.ts';

const place = await sharedWorkplace();

test('rejected CSV rows are written unchanged, and can be imported after corrections', async () => {
  const name = await place.write('first.csv', 'categoryId,name\n1,A\nx,Bo\n1,"C\n1,"D ""d""",x\n');
  const report = await place.json<Report>('import', name, '--rejects', 'rejects.csv');
  expect(report).toMatchObject({ added: 1, rejected: 3, rejects: 'rejects.csv' });
  const rejects = await readFile(place.path('rejects.csv'), 'utf8');
  const quotes = '"has a misplaced quote: enclose the whole field in quotes, and double any quote inside it"';
  expect(rejects).toBe(
    'line,reason,categoryId,name\n' +
      '3,"categoryId must be an integer from -9223372036854775808 to 9223372036854775807, not x",x,Bo\n' +
      `4,${quotes},1,"C\n` +
      '5,"has 3 fields, but the header has 2",1,"D ""d""",x\n',
  );
  const repaired = rejects.replace(',x,Bo', ',7,Bo').replace('1,"C', '1,C').replace('""",x', '"""');
  const again = await place.json<Report>('import', await place.write('rejects.csv', repaired));
  expect(again).toMatchObject({ added: 3, rejected: 0, firstLine: 2, lastLine: 4 });
  expect(await place.lastRows(3)).toEqual([
    '{"name":"Bo","categoryId":7,"status":"available"}',
    '{"name":"C","categoryId":1,"status":"available"}',
    '{"name":"D \\"d\\"","categoryId":1,"status":"available"}',
  ]);
});

test('rejected rows of a file with semicolons can be imported after a spreadsheet has rewritten them', async () => {
  const name = await place.write('sep.csv', 'sep=;\r\nName;CategoryId;\r\n"A;";x;\r\nB;1;\r\n;1;\r\n');
  const report = await place.json<Report>('import', name, '--rejects', 'sep-rejects.csv');
  expect(report).toMatchObject({ added: 1, rejected: 2, firstLine: 3, lastLine: 5 });
  const rejects = await readFile(place.path('sep-rejects.csv'), 'utf8');
  const range = 'from -9223372036854775808 to 9223372036854775807';
  expect(rejects).toBe(
    'sep=;\nline;reason;Name;CategoryId;\n' +
      `3;categoryId must be an integer ${range}, not x;"A;";x;\n5;name must not be empty;;1;\n`,
  );
  const again = await place.json<Report>(
    'import',
    await place.write('sep-rejects.csv', rejects.replace(';x', ';7').replace(';;1', ';;x')),
    '--rejects',
    'sep-second.csv',
  );
  expect(again).toMatchObject({ added: 1, rejected: 1 });
  expect(await place.lastRows(1)).toEqual(['{"name":"A;","categoryId":7,"status":"available"}']);
  const second = await readFile(place.path('sep-second.csv'), 'utf8');
  const reason = `"name must not be empty; categoryId must be an integer ${range}, not x"`;
  expect(second).toBe(`sep=;\nline;reason;Name;CategoryId;\n4;${reason};;x;\n`);
  const rewritten = '"LINE";"Reason";"Name";"CategoryId";;\r\n"4";"name; ""x""";"C";"1.0";;\r\n';
  expect(await place.json<Report>('import', await place.write('rewritten.csv', rewritten))).toMatchObject({
    added: 1,
    rejected: 0,
  });
});

test('the audit log records the file name and the number of rows of an import', async () => {
  const name = await place.write('logged.csv', 'name,categoryId\nA,1\n,1\n');
  await place.json<Report>('import', name);
  const { stdout } = await place.run(['audit', 'list', '--limit', '1']);
  expect(stdout).toMatch(/ importPets +import:\w+ +logged\.csv: 1 added, 1 rejected\n$/);
});

test('rejected NDJSON rows are written unchanged, each with its line number and reason', async () => {
  const name = await place.write('first.ndjson', '{"name":"","categoryId":1}\n{}\nno json\n');
  expect((await place.run(['import', name, '--rejects', 'rejects.ndjson'])).exitCode).toBe(1);
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
  const name = await place.write('mine.csv', 'name,categoryId\n,1\nA,1\n');
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
