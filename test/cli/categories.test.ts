import { expect, test } from 'bun:test';
import { sharedWorkplace } from '../support/cli.ts';

const place = await sharedWorkplace();

const [lowest, highest] = ['-9223372036854775808', '9223372036854775807'];

test('a category can have any int64 id, which stays exact, and categories are listed in ascending order of id', async () => {
  expect((await place.run(['categories', 'list'])).stdout).toBe('No categories.\n');
  for (const [id, name] of [
    [highest, 'Last'],
    ['0', 'Zero'],
    [lowest, 'First'],
  ] as const) {
    const { exitCode, stdout } = await place.run(['categories', 'set', id, name, '--json']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `{"id":${id},"name":"${name}"}\n` });
  }
  expect((await place.run(['categories', 'list', '--json'])).stdout).toBe(
    `[{"id":${lowest},"name":"First"},{"id":0,"name":"Zero"},{"id":${highest},"name":"Last"}]\n`,
  );
  expect((await place.run(['categories', 'list', '--after', lowest, '--limit', '1'])).stdout).toBe(
    'ID  NAME\n0   Zero\n',
  );
});

test('categories set renames a category, categories show prints it, and categories remove keeps its animals', async () => {
  await place.write('pets.csv', 'name,categoryId\nOzzy,7\n');
  await place.json('import', 'pets.csv');
  await place.json('categories', 'set', '7', 'Dogs');
  const renamed = await place.run(['categories', 'set', '7', 'Good dogs']);
  expect(renamed).toMatchObject({ exitCode: 0, stdout: 'Category 7: Good dogs.\n' });
  expect(await place.json<object>('categories', 'show', '7')).toEqual({ id: 7, name: 'Good dogs' });
  expect(await place.json<object>('categories', 'remove', '7')).toEqual({ id: 7, removed: true });
  expect(await place.json<object[]>('pets', 'list', '--category', '7')).toHaveLength(1);
  for (const command of ['show', 'remove']) {
    expect(await place.run(['categories', command, '7'])).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: 'animal-store: There is no category 7. For a list, run "animal-store categories list".\n',
    });
  }
});
