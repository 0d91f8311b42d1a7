import { expect, test } from 'bun:test';
import { newWorkplace } from '../support/cli.ts';

test('events list shows the newest events first; with --after, it shows the oldest events after that id', async () => {
  await using place = await newWorkplace();
  expect(await place.output('events', 'list')).toBe('No events.\n');
  expect(await place.json<unknown[]>('events', 'list')).toEqual([]);
  for (const name of ['Dogs', 'Cats', 'Fish']) await place.output('categories', 'set', '1', name);
  const ids = async (...args: string[]) =>
    (await place.json<{ id: number }[]>('events', 'list', ...args)).map(({ id }) => id);
  expect(await ids()).toEqual([3, 2, 1]);
  expect(await ids('--limit', '2')).toEqual([3, 2]);
  expect(await ids('--order', 'asc', '--limit', '2')).toEqual([1, 2]);
  expect(await ids('--after', '1')).toEqual([2, 3]);
  expect(await ids('--type', 'category.created,order.*')).toEqual([1]);
  expect(await place.output('events', 'list', '--limit', '1')).toMatch(
    /^ID +RECORDED +TYPE +WHAT\n3 +\S+Z +category\.updated +Category 1: Fish\.\n$/,
  );
  expect(await place.failure(1, 'events', 'list', '--after', '9')).toContain('No event has the id 9');
  expect(await place.failure(1, 'events', 'tail', '--after', '9')).toContain('No event has the id 9');
  expect(await place.failure(2, 'events', 'list', '--type', 'pet')).toContain('pet.created');
  expect(await place.failure(2, 'events', 'list', '--order', 'desc', '--limit', '101')).toContain('100');
  expect(await place.failure(2, 'events', 'list', '--order', 'desc', '--after', '1')).toContain('--after');
});
