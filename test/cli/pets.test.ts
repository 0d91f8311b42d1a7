import { afterEach, beforeEach, expect, test } from 'bun:test';
import { newWorkplace, type Workplace } from '../support/cli.ts';

const int64Max = '9223372036854775807';

let place: Workplace;
beforeEach(async () => {
  place = await newWorkplace();
  const rows = ['Ólafur,-2,sold', `Ozzy,${int64Max},available`, 'Pepper,3,available', 'Mia,3,pending'];
  await place.write('pets.csv', `name,categoryId,status\n${rows.join('\n')}\n`);
  await place.json('import', 'pets.csv');
});
afterEach(() => place[Symbol.asyncDispose]());

/** Output of a command with --json, with exact integers. */
async function text(...args: string[]): Promise<string> {
  const { exitCode, stdout, stderr } = await place.run([...args, '--json']);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return stdout;
}

const idsIn = async (...args: string[]) =>
  [...(await text('pets', 'list', ...args)).matchAll(/"id":(\d+)/g)].map(([, id]) => Number(id));

test('pets list shows a table in ascending order of id, and explains how to list more', async () => {
  expect(await place.run(['pets', 'list', '--limit', '2'])).toEqual({
    exitCode: 0,
    stdout: `ID  STATUS     CATEGORY             NAME\n1   sold       -2                   Ólafur\n2   available  ${int64Max}  Ozzy\n`,
    stderr: 'More items follow: add --after 2, or --limit all.\n',
  });
  const rest = await place.run(['pets', 'list', '--after', '3']);
  expect(rest).toMatchObject({ exitCode: 0, stderr: '' });
  expect(rest.stdout).toBe('ID  STATUS   CATEGORY  NAME\n4   pending  3         Mia\n');
  expect((await place.run(['pets', 'list', '--after', '9'])).stdout).toBe('No animals.\n');
});

test('pets list --json prints one line with exact integers', async () => {
  expect(await text('pets', 'list', '--id', '2,1')).toBe(
    `[{"id":1,"name":"Ólafur","categoryId":-2,"status":"sold"},{"id":2,"name":"Ozzy","categoryId":${int64Max},"status":"available"}]\n`,
  );
  expect(await text('pets', 'list', '--category', '77')).toBe('[]\n');
});

test("pets list supports the API's filters, which can be combined", async () => {
  expect(await idsIn('--status', 'available')).toEqual([2, 3]);
  expect(await idsIn('--category', '3')).toEqual([3, 4]);
  expect(await idsIn('--category', '3', '--status', 'pending')).toEqual([4]);
  expect(await idsIn('--category', int64Max)).toEqual([2]);
  expect(await idsIn('--category', '-2', '--id', '1,4')).toEqual([1]);
  expect(await idsIn('--category', '3', '--after', '3')).toEqual([4]);
});

test('pets list prints each animal once and in order, even if it takes several pages', async () => {
  await using other = await newWorkplace();
  const rows = Array.from({ length: 205 }, (_, n) => `Ozzy ${n},${n % 2},\n`);
  await other.write('pets.csv', `name,categoryId,status\n${rows.join('')}`);
  await other.json('import', 'pets.csv');
  const all = await other.json<{ id: number }[]>('pets', 'list', '--limit', 'all');
  expect(all.map(({ id }) => id)).toEqual(rows.map((_, n) => n + 1));
  const odd = await other.json<{ id: number }[]>('pets', 'list', '--limit', '101', '--category', '1');
  expect(odd.map(({ id }) => id)).toEqual(Array.from({ length: 101 }, (_, n) => 2 * n + 2));
  const table = await other.run(['pets', 'list', '--limit', 'all']);
  expect(table.stdout.split('\n').filter((line) => line.startsWith('ID '))).toHaveLength(1);
  expect(table.stdout.split('\n')).toHaveLength(207);
});

test('inventory counts animals by status, in all categories or one category, and matches pets list', async () => {
  await using other = await newWorkplace();
  await other.write('pets.csv', 'name,categoryId,status\nA,1,\nB,1,sold\nC,2,pending\n');
  await other.json('import', 'pets.csv');
  expect(await other.json<object>('inventory')).toEqual({ available: 1, pending: 1, sold: 1 });
  expect(await other.json<object>('inventory', '--category', '1')).toEqual({
    available: 1,
    pending: 0,
    sold: 1,
  });
  expect((await other.run(['inventory'])).stdout).toBe(
    'STATUS     ANIMALS\navailable  1\npending    1\nsold       1\n',
  );
});

const wrongUses: [mistake: string, args: string[], message: RegExp][] = [
  ['a negative id for --after', ['pets', 'list', '--after', '-1'], /must not be negative/],
  ['a limit of 0', ['pets', 'list', '--limit', '0'], /positive whole number/],
];
test.each(wrongUses)('%s is a usage error', async (_mistake, args, message) => {
  expect(await place.failure(2, ...args)).toMatch(message);
});
