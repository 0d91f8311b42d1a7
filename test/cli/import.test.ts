import { describe, expect, test } from 'bun:test';
import { newWorkplace, type ImportReport as Report, sharedWorkplace } from '../support/cli.ts';

const place = await sharedWorkplace();

describe('CSV', () => {
  test('adds the valid rows in order, and reports the rejected rows with line and reason', async () => {
    const name = await place.write(
      'mixed.csv',
      'status,name,categoryId\nsold,Ólafur,1\n,"Georgia ""George""",2\n,,3\nlost,\\,4\npending,Rex,x\n,Rex\n,  Rex ,-5\n',
    );
    const { exitCode, stdout, stderr } = await place.run(['import', name]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /^mixed\.csv: imported 3, rejected 4 \(of lines 2–8\)\.\nNew animal ids: \d+ to \d+\.\nTook [\d.]+ s \([\d,]+ rows\/s\)\.\n$/,
    );
    expect(stderr.trimEnd().split('\n')).toEqual([
      'line 4: name must not be empty',
      'line 5: status must be one of "available", "pending", "sold"',
      'line 6: categoryId must be an integer from -9223372036854775808 to 9223372036854775807, not x',
      'line 7: categoryId is required',
    ]);
    expect(await place.lastRows(3)).toEqual([
      '{"name":"Ólafur","categoryId":1,"status":"sold"}',
      '{"name":"Georgia \\"George\\"","categoryId":2,"status":"available"}',
      '{"name":"  Rex ","categoryId":-5,"status":"available"}',
    ]);
  });

  test('--json prints one line with ids, line numbers and counts', async () => {
    const name = await place.write('shape.csv', 'name,categoryId\nA,1\n,1\nB,1\n');
    const report = await place.json<Report>('import', name);
    expect(report).toEqual({
      file: name,
      status: 'complete',
      dryRun: false,
      added: 2,
      rejected: 1,
      skipped: 0,
      firstLine: 2,
      lastLine: 4,
      firstId: expect.any(Number),
      lastId: (report.firstId ?? 0) + 1,
      total: { added: 2, rejected: 1 },
      rejects: null,
    });
  });

  test('a row that is not valid UTF-8 is rejected without replacement characters', async () => {
    const latin1 = Buffer.from('name,categoryId,status\nBj\xf6rn,1,\nBjörn,1,\n', 'latin1');
    const { stdout, stderr } = await place.run(['import', await place.write('latin1.csv', latin1)]);
    expect(stderr).toStartWith('line 2: is not valid UTF-8\nline 3: is not valid UTF-8\n');
    expect(stdout).toContain('imported 0, rejected 2');
  });

  test.each([
    ['semicolons', 'name;categoryId;status\n"A; B";1;sold\nC, D;2;\n'],
    ['tabs', 'name\tcategoryId\tstatus\nA; B\t1\tsold\nC, D\t2\t\n'],
    ['a sep= line', 'sep=;\nname;categoryId;status\n"A; B";1;sold\nC, D;2;\n'],
    ['a sep= line after a byte order mark', '\ufeffSep=\t\r\nname\tcategoryId\r\nA; B\t1\r\nC, D\t2\r\n'],
    ['header names in other cases and with spaces', ' Name ,CATEGORYID,Status\nA; B,1,\n"C, D",2,sold\n'],
    ['empty columns at the end', 'name,categoryId,status,,\nA; B,1,sold,,\n"C, D",2,,\n'],
    ['empty fields only at the end of a row', 'name,categoryId\nA; B,1,,"",\n"C, D",2\n'],
    ['integers with zeros after the point', 'name,categoryId\nA; B,1.0\n"C, D",2.00\n'],
    ['rows without empty cells at the end', 'name,categoryId,status\nA; B,1\n"C, D",2,\n'],
  ])('a file exported from a spreadsheet with %s is accepted', async (what, content) => {
    await using place = await newWorkplace();
    const report = await place.json<Report>('import', await place.write('sheet.csv', content));
    expect({ what, ...report }).toMatchObject({ what, added: 2, rejected: 0 });
    expect(await place.lastRows(2)).toEqual([
      expect.stringContaining('"name":"A; B","categoryId":1,'),
      expect.stringContaining('"name":"C, D","categoryId":2,'),
    ]);
  });

  test('an integer with a point and three zeros is rejected, because the point may be a thousands separator', async () => {
    await using place = await newWorkplace();
    const file = await place.write('sheet.csv', 'name;categoryId\nA;1.000\nB;12.0\n');
    expect(await place.json<Report>('import', file)).toMatchObject({ added: 1, rejected: 1 });
  });

  test('a field beyond the columns of the header is rejected unless it is empty', async () => {
    const name = await place.write('wide.csv', 'name;categoryId;;\nA;1;;x;\nB;1;;\n');
    const { stdout, stderr } = await place.run(['import', name]);
    expect(stderr).toBe('line 2: has 4 fields, but the header has 2\n');
    expect(stdout).toContain('imported 1, rejected 1');
  });

  test('a sep= line counts in the reported line numbers and for --from-line', async () => {
    const name = await place.write('sep.csv', 'sep=;\r\nname;categoryId\r\nA;x\r\nB;1\r\nC;1\r\n');
    const dry = await place.run(['import', name, '--dry-run']);
    expect(dry.stderr).toStartWith('line 3: categoryId must be an integer');
    expect(dry.stdout).toContain('2 valid, 1 invalid (of lines 3–5)');
    const report = await place.json<Report>('import', name, '--from-line', '5');
    expect(report).toMatchObject({ added: 1, firstLine: 5, lastLine: 5 });
  });

  test('a byte order mark, CRLF, blank lines and a missing final newline are accepted', async () => {
    const name = await place.write(
      'windows.csv',
      '\ufeffname,categoryId,status\r\nA,1,sold\r\n\r\nB,2,\r\n\n"C",3,sold',
    );
    expect(await place.json<Report>('import', name)).toMatchObject({ added: 3, rejected: 0, lastLine: 6 });
    expect(await place.lastRows(3)).toEqual([
      '{"name":"A","categoryId":1,"status":"sold"}',
      '{"name":"B","categoryId":2,"status":"available"}',
      '{"name":"C","categoryId":3,"status":"sold"}',
    ]);
  });

  test('a stray quote causes only its own row to be rejected, and does not affect later line numbers', async () => {
    const name = await place.write(
      'stray.csv',
      'name,categoryId\nA,1\n"Rex,1\nB,1\nBu"ons,1\n"two\nlines",1\n"x"y,1\nC,1\n"end,1\nD,1\n',
    );
    const { stdout, stderr } = await place.run(['import', name]);
    const quotes = 'has a misplaced quote: enclose the whole field in quotes, and double any quote inside it';
    expect(stderr.trimEnd().split('\n')).toEqual([
      `line 3: ${quotes}`,
      `line 5: ${quotes}`,
      'line 6: name must not contain control characters (U+0000 to U+001F, U+007F)',
      `line 8: ${quotes}`,
      `line 10: ${quotes}`,
    ]);
    expect(stdout).toContain('imported 4, rejected 5 (of lines 2–11)');
  });

  test('control characters in a row are not printed to the terminal', async () => {
    const { stderr } = await place.run([
      'import',
      await place.write('escape.csv', 'name,categoryId\nA,\x1b[31m1\n'),
    ]);
    expect(stderr).not.toContain('\x1b');
    expect(stderr).toContain('not \\u001b[31m1');
  });

  test('accepts only exact int64 values in plain decimal digits', async () => {
    const rows = [
      '9223372036854775807',
      '-9223372036854775808',
      '9223372036854775808',
      '1.5',
      '1.23457E+13',
      '.0',
      '007',
      '+1',
      ' 1',
    ];
    const name = await place.write(
      'int64.csv',
      `name,categoryId\n${rows.map((row) => `A,${row}\n`).join('')}`,
    );
    expect(await place.json<Report>('import', name)).toMatchObject({ added: 2, rejected: 7 });
    expect(await place.lastRows(2)).toEqual([
      '{"name":"A","categoryId":9223372036854775807,"status":"available"}',
      '{"name":"A","categoryId":-9223372036854775808,"status":"available"}',
    ]);
  });

  test.each([
    [
      'an unknown and a missing column in the header',
      'name,category\nA,1\n',
      ['missing column "categoryId"', 'unknown column "category"'],
    ],
    ['a repeated column', 'name,name,categoryId\nA,B,1\n', ['"name" is repeated']],
    ['no header', 'Ozzy,1,available\n', ['missing columns "name", "categoryId"', '"Ozzy"']],
    ['no content', '', ['is empty', 'name,categoryId,status']],
    ['only a sep= line', 'sep=;\n', ['is empty', 'name,categoryId,status']],
    ...(['fffe', 'feff'] as const).map((mark): [string, Buffer, string[]] => {
      const text = Buffer.from('\ufeffname,categoryId\r\nA,1\r\n', 'utf16le');
      return [
        `the UTF-16 byte order mark ${mark}`,
        mark === 'fffe' ? text : text.swap16(),
        ['The input is in UTF-16: save it as text in UTF-8 (in Excel, as "CSV UTF-8").'],
      ];
    }),
    [
      'carriage returns as line endings',
      `name,categoryId\r${'A,1\r'.repeat(9_999)}`,
      ['The lines of the input end with carriage returns only: save it with line feeds (in Excel,'],
    ],
    [
      'the bytes of an image',
      Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQ', 'base64'),
      ['The input is not a text file: save it as text in UTF-8 (in Excel, as "CSV UTF-8").'],
    ],
    ['NUL in its first line', 'PK\x03\x04\x00\n', ['The input is not a text file: save it']],
  ])(
    'a file with %s is rejected with an error that states the reason, and nothing is added',
    async (what, content, messages) => {
      // Uses a new store, because another test may have imported the same bytes.
      await using place = await newWorkplace();
      const { exitCode, stdout, stderr } = await place.run([
        'import',
        await place.write(`${what}.csv`, content),
      ]);
      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
      for (const message of messages) expect(stderr).toContain(message);
    },
  );

  test('shows the first 20 rejected rows and the number of other rejected rows', async () => {
    const name = await place.write('many.csv', `name,categoryId\n${',1\n'.repeat(1_500)}`);
    const { stderr, stdout } = await place.run(['import', name]);
    expect(stderr.trimEnd().split('\n')).toHaveLength(22);
    expect(stderr).toContain('\n… and 1,480 more; use --rejects FILE to save all of them.\n');
    expect(stdout).toContain('imported 0, rejected 1,500 (of lines 2–1501)');
  });
});

describe('NDJSON', () => {
  test('is parsed like JSON in the API: int64 values are exact, and values that the API rejects are rejected', async () => {
    const name = await place.write(
      'pets.ndjson',
      [
        '{"categoryId":9223372036854775807,"name":"Ólafur"}',
        '{"name":"A","categoryId":1e2,"status":"sold"}',
        '',
        '{"name":"A","categoryId":9223372036854775808}',
        '{"name":"A","categoryId":"1"}',
        '{"name":"A","categoryId":1,"status":null}',
        '{"name":"A","categoryId":1,"id":7}',
        '{"name":"A","name":"B","categoryId":1}',
        '{"categoryId":1}',
        '[1]',
        'no json',
      ].join('\n'),
    );
    const { stdout, stderr } = await place.run(['import', name]);
    expect(stdout).toContain('imported 2, rejected 8 (of lines 1–11)');
    expect(stderr.trimEnd().split('\n')).toEqual([
      'line 4: categoryId must be an integer from -9223372036854775808 to 9223372036854775807, not 9223372036854775808',
      'line 5: categoryId must be an integer, not a string',
      'line 6: status must be one of "available", "pending", "sold"',
      'line 7: id is not kept: with --new-ids, the animals get new ones',
      'line 8: name is given more than once',
      'line 9: name is required',
      'line 10: must be a JSON object, not an array',
      expect.stringMatching(/^line 11: is not valid JSON: /),
    ]);
    expect(await place.lastRows(2)).toEqual([
      '{"name":"Ólafur","categoryId":9223372036854775807,"status":"available"}',
      '{"name":"A","categoryId":100,"status":"sold"}',
    ]);
  });

  test('a byte order mark is accepted before the first row, and not before others', async () => {
    const row = '\ufeff{"name":"A","categoryId":1}\r\n';
    const { stdout, stderr } = await place.run(['import', await place.write('mark.ndjson', row + row)]);
    expect(stdout).toContain('imported 1, rejected 1 (of lines 1–2)');
    expect(stderr).toStartWith('line 2: is not valid JSON: ');
  });

  test('a row that exceeds the maximum size of a request body is rejected', async () => {
    const long = `{"name":"${'x'.repeat(3_000_000)}","categoryId":1}`;
    const name = await place.write('long.ndjson', `${long}\n{"name":"A","categoryId":1}\n`);
    const { stdout, stderr } = await place.run(['import', name]);
    expect(stderr).toBe('line 1: is longer than 16384 bytes\n');
    expect(stdout).toContain('imported 1, rejected 1');
  });

  test.each([
    ['UTF-16', Buffer.from('\ufeff{"name":"A","categoryId":1}\n', 'utf16le'), 'is in UTF-16: save it'],
    ['binary data', Buffer.from('\x1f\x8b\x08\x00\n', 'latin1'), 'is not a text file: save it'],
  ])('a file with %s is rejected with the cause and the remedy', async (what, content, message) => {
    const stderr = await place.failure(1, 'import', await place.write(`${what}.ndjson`, content));
    expect(stderr).toStartWith(`animal-store: The input ${message}`);
  });

  test('an empty file is not an error', async () => {
    const { exitCode, stdout } = await place.run(['import', await place.write('empty.ndjson', '')]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: 'empty.ndjson: no rows imported.\n' });
  });
});

describe('the exit code', () => {
  const failed = 'All rows were rejected. Correct the file, then import it again.\n';
  test.each([
    ['is 1 if all rows are rejected, even in a repeated import', ',1\n,2\n', [], [1, 1]],
    ['is 1 if all rows are rejected in a dry run, even a repeated one', ',1\n,2\n', ['--dry-run'], [1, 1]],
    [
      'is 1 if all rows are rejected and a filter skips none, but 0 in a repeated import',
      ',1\n,3\n',
      ['--category', '1'],
      [1, 0],
    ],
    ['is 0 if some rows are rejected, even in a repeated import', 'A,1\n,2\n', [], [0, 0]],
    [
      'is 0 if the other rows are skipped, even in a repeated import',
      'A,1\n,2\n',
      ['--category', '3'],
      [0, 0],
    ],
    ['is 0 if there are no rows, even in a repeated import', '', [], [0, 0]],
  ])('%s', async (_what, rows, options, exitCodes) => {
    await using place = await newWorkplace();
    const name = await place.write('rows.csv', `name,categoryId\n${rows}`);
    for (const exitCode of exitCodes) {
      const run = await place.run(['import', name, ...options]);
      expect(run.exitCode).toBe(exitCode);
      expect(run.stderr.endsWith(failed)).toBe(exitCode === 1);
    }
  });
});

describe('repeated imports', () => {
  test('importing the same file again adds nothing, even under another name, unless --again is set', async () => {
    const content = 'name,categoryId\nOnce,1\n,1\n';
    await place.json('import', await place.write('once.csv', content));
    const second = await place.json<Report>('import', await place.write('renamed.csv', content));
    expect(second).toMatchObject({ status: 'already-complete', added: 0, rejected: 0, firstId: null });
    expect(second.total).toEqual({ added: 1, rejected: 1 });
    const secondRun = await place.run(['import', 'once.csv']);
    expect(secondRun).toMatchObject({ exitCode: 0, stderr: '' });
    expect(secondRun.stdout).toStartWith(
      'once.csv is already imported: imported 1, rejected 1 (of lines 2–3). Nothing was added.',
    );
    const again = await place.json<Report>('import', 'once.csv', '--again');
    expect(again).toMatchObject({ status: 'complete', added: 1, rejected: 1 });
    expect((await place.json<Report>('import', 'once.csv')).status).toBe('already-complete');
  });

  test('--dry-run reports and writes rejected rows without changing the store', async () => {
    await using other = await newWorkplace({ store: false });
    await Bun.write(other.path('dry.csv'), 'name,categoryId\nA,1\n,1\n');
    const { exitCode, stdout } = await other.run(['import', 'dry.csv', '--dry-run', '--rejects', 'r.csv']);
    expect(exitCode).toBe(0);
    expect(stdout).toStartWith(
      'Dry run: nothing was imported. dry.csv: 1 valid, 1 invalid (of lines 2–3).\n',
    );
    expect((await other.files()).sort()).toEqual(['dry.csv', 'r.csv']);
    expect(await other.json<Report>('import', 'dry.csv')).toMatchObject({ added: 1, dryRun: false });
  });

  test('--from-line skips all earlier lines except the header', async () => {
    const name = await place.write('from.csv', 'categoryId,name\n1,A\n1,B\n1,C\n');
    expect(await place.json<Report>('import', name, '--from-line', '3')).toMatchObject({
      added: 2,
      firstLine: 3,
      lastLine: 4,
    });
  });

  test('--from-line beyond the end of the file reports the last line and does not affect later imports', async () => {
    for (const [name, content] of [
      ['end.csv', 'name,categoryId\nA,1\nB,1\n'],
      ['end.ndjson', '{"name":"A","categoryId":1}\n{"name":"B","categoryId":1}\n{"name":"C","categoryId":1}'],
    ] as const) {
      await place.write(name, content);
      expect(await place.failure(1, 'import', name, '--from-line', '99')).toBe(
        `animal-store: No rows at or after line 99: ${name} has 3 lines. Nothing was imported.\n`,
      );
      expect(await place.json<Report>('import', name)).toMatchObject({ status: 'complete', lastLine: 3 });
    }
  });

  test('importing part of a file does not count as importing all of it, and no row is added twice', async () => {
    const name = await place.write('part.csv', 'name,categoryId\nPartA,1\nPartB,1\nPartC,1\n');
    const part = ['import', name, '--from-line', '4'];
    expect(await place.json<Report>(...part)).toMatchObject({ status: 'complete', added: 1, firstLine: 4 });
    const repeated = await place.run(part);
    expect(repeated.stdout).toStartWith(
      'part.csv is already imported: imported 1, rejected 0 (of line 4). Nothing',
    );
    expect(await place.failure(1, 'import', name)).toStartWith(
      'animal-store: Part of part.csv was already imported with --from-line 4. Use --again to import the whole file',
    );
    const again = await place.json<Report>('import', name, '--again');
    expect(again).toMatchObject({ status: 'complete', added: 3, total: { added: 3, rejected: 0 } });
    expect((await place.json<Report>('import', name)).status).toBe('already-complete');
  });

  test('--from-line with the line number of the first row imports the whole file', async () => {
    const name = await place.write('first.csv', 'name,categoryId\nFirst,1\n');
    expect((await place.json<Report>('import', name, '--from-line', '2')).added).toBe(1);
    expect((await place.json<Report>('import', name)).status).toBe('already-complete');
  });
});

test('standard input is imported as it arrives, in the given format', async () => {
  const run = await place.run(['import', '-', '--format', 'ndjson', '--json'], {
    stdin: '{"name":"Piped","categoryId":1}\n{"name":"Piped","categoryId":1}\n',
  });
  expect(JSON.parse(run.stdout)).toMatchObject({ file: '-', added: 2, lastLine: 2 });
  const again = await place.run(['import', '-', '--format', 'csv'], { stdin: 'name,categoryId\nPiped,1\n' });
  expect(again.stdout).toStartWith('standard input: imported 1, rejected 0 (of line 2).\n');
});

const mistakes: [mistake: string, args: string[], exitCode: 1 | 2, message: RegExp][] = [
  ['a missing file argument', ['import'], 2, /missing required argument 'file'/],
  ['standard input without a format', ['import', '-'], 2, /--format csv or --format ndjson/],
  ['a name without format', ['import', 'pets.txt'], 2, /does not end in \.csv or \.ndjson.*--format/],
  ['an unsupported format', ['import', 'pets.csv', '--format', 'xml'], 2, /Allowed choices are csv, ndjson/],
  ['an unknown option', ['import', 'pets.csv', '--dryrun'], 2, /--dryrun.*\n\(Did you mean --dry-run\?\)/],
  ['an invalid line number', ['import', 'pets.csv', '--from-line', '0'], 2, /positive whole number/],
  ['a missing file', ['import', 'nowhere.csv'], 1, /File not found: nowhere\.csv/],
  ['a folder instead of a file', ['import', '.', '--format', 'csv'], 1, /is not a regular file/],
];
test.concurrent.each(mistakes)('import rejects %s with advice', async (_mistake, args, exitCode, message) => {
  const run = await place.run(args);
  expect(run).toMatchObject({ exitCode, stdout: '' });
  expect(run.stderr).toMatch(message);
});
