/** Import and export of selected animals, with and without their ids. */
import { expect, test } from 'bun:test';
import { readFile } from 'node:fs/promises';
import { type ImportReport, newWorkplace, type Workplace } from '../support/cli.ts';

const int64Max = '9223372036854775807';
const rows = [`Ozzy,${int64Max},available`, 'Pepper,3,sold', 'Mia,3,available', 'Max,-1,pending'];
const csv = `name,categoryId,status\n${rows.join('\n')}\n`;

const textAt = (place: Workplace, name: string) => readFile(place.path(name), 'utf8');

async function filledWorkplace(): Promise<Workplace> {
  const place = await newWorkplace();
  await place.write('pets.csv', csv);
  await place.json('import', 'pets.csv');
  return place;
}

test('export --ids writes exact ids as CSV and NDJSON', async () => {
  await using place = await filledWorkplace();
  await place.json('export', 'ids.csv', '--ids');
  expect(await textAt(place, 'ids.csv')).toBe(
    `id,name,categoryId,status\n${rows.map((row, n) => `${n + 1},${row}\n`).join('')}`,
  );
  await place.json('export', 'ids.ndjson', '--ids', '--status', 'available');
  expect(await textAt(place, 'ids.ndjson')).toBe(
    `{"id":1,"name":"Ozzy","categoryId":${int64Max},"status":"available"}\n{"id":3,"name":"Mia","categoryId":3,"status":"available"}\n`,
  );
  const formulas = await place.run(['export', '-', '--format', 'csv', '--ids', '--escape-formulas']);
  expect(formulas.stdout).toBe(await textAt(place, 'ids.csv'));
});

test("export supports the API's filters, separately and combined", async () => {
  await using place = await filledWorkplace();
  const exported = async (...args: string[]) => {
    const { stdout } = await place.run(['export', '-', '--format', 'csv', ...args]);
    return stdout.trimEnd().split('\n').slice(1);
  };
  expect(await exported('--status', 'sold')).toEqual(['Pepper,3,sold']);
  expect(await exported('--category', '3')).toEqual(['Pepper,3,sold', 'Mia,3,available']);
  expect(await exported('--category', '3', '--status', 'available')).toEqual(['Mia,3,available']);
  expect(await exported('--category', '-1')).toEqual(['Max,-1,pending']);
  expect(await exported('--category', '77')).toEqual([]);
  const report = await place.json<object>('export', 'some.csv', '--category', '3', '--status', 'sold');
  expect(report).toEqual({ file: 'some.csv', exported: 1 });
});

test('import rejects a file with ids unless --new-ids is set, and the error suggests the option', async () => {
  await using place = await filledWorkplace();
  await place.json('export', 'ids.csv', '--ids');
  await place.json('export', 'ids.ndjson', '--ids');
  expect(await place.failure(1, 'import', 'ids.csv')).toContain(
    '"id" is not kept: with --new-ids, the animals get new ones',
  );
  const rejected = await place.run(['import', 'ids.ndjson', '--dry-run']);
  expect(rejected.stderr).toContain('line 1: id is not kept: with --new-ids, the animals get new ones\n');
  for (const name of ['ids.csv', 'ids.ndjson']) {
    expect(await place.json<ImportReport>('import', name, '--new-ids')).toMatchObject({
      added: 4,
      rejected: 0,
    });
  }
  const { stdout } = await place.run(['export', '-', '--format', 'csv', '--ids']);
  const lines = stdout.trimEnd().split('\n').slice(1);
  expect(lines).toEqual(Array.from({ length: 12 }, (_, n) => `${n + 1},${rows[n % 4]}`));
});

test('import with filters adds only matching rows, and counts the other rows as skipped', async () => {
  await using place = await newWorkplace();
  await place.write('pets.csv', `${csv},3,sold\n`);
  const filters = ['--status', 'available', '--category', '3'];
  expect(await place.json<ImportReport>('import', 'pets.csv', ...filters)).toMatchObject({
    added: 1,
    rejected: 1,
    skipped: 3,
  });
  expect(await place.lastRows(1)).toEqual(['{"name":"Mia","categoryId":3,"status":"available"}']);
  const again = await place.json<ImportReport>('import', 'pets.csv', ...filters);
  expect(again).toMatchObject({ status: 'already-complete', added: 0 });
});

test('import rejects part of a file only if that part overlaps one that was already imported', async () => {
  await using place = await newWorkplace();
  await place.write('pets.csv', csv);
  await place.json('import', 'pets.csv', '--status', 'sold');
  await place.json('import', 'pets.csv', '--status', 'available');
  const refusals: [args: string[], message: string][] = [
    [['--category', '3'], 'was imported with --status available and --status sold.'],
    [['--from-line', '3'], 'was imported with --status available and --status sold.'],
    [[], 'Part of pets.csv was already imported with --status available and --status sold.'],
  ];
  for (const [args, message] of refusals) {
    const stderr = await place.failure(1, 'import', 'pets.csv', ...args);
    expect(stderr).toContain(message);
    expect(stderr).toContain('Use --again');
  }
  await place.json('import', 'pets.csv', '--status', 'pending', '--category', '-1');
  const names = (await place.lastRows(4)).map((row) => /"name":"(\w+)"/.exec(row)?.[1]);
  expect(names).toEqual(['Pepper', 'Ozzy', 'Mia', 'Max']);
  expect(await place.json<ImportReport>('import', 'pets.csv', '--category', '3', '--again')).toMatchObject({
    added: 2,
  });
});

test.each(['3', '5'])(
  'import rejects --from-line %s after --from-line 4, because the two parts overlap',
  async (line) => {
    await using place = await newWorkplace();
    await place.write('pets.csv', csv);
    const { added } = await place.json<ImportReport>('import', 'pets.csv', '--from-line', '4');
    const other = await place.run(['import', 'pets.csv', '--from-line', line]);
    expect(other).toMatchObject({ exitCode: 1, stdout: '' });
    expect(other.stderr).toContain('pets.csv was imported with --from-line 4. Use --again');
    const again = await place.json<ImportReport>('import', 'pets.csv', '--from-line', line, '--again');
    expect(again.added).toBe(added + 4 - Number(line));
  },
);
