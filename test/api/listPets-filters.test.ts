/** The filters of listPets, alone and together: `status`, `categoryId`, `id`, `minId` and `maxId`. */
import { afterAll, describe, expect, test } from 'bun:test';
import type { Pet } from '../../src/contract/pets.ts';
import { petStatuses } from '../../src/domain/pet-status.ts';
import { startTestApp } from '../support/app.ts';
import { faulty, linksOf, newPet, relative, walk } from '../support/pets.ts';

const app = await startTestApp();
afterAll(() => app[Symbol.asyncDispose]());

const categories = ['0', '7', '-9223372036854775808', '9223372036854775807'];
const pets: Pet[] = [];
for (let n = 0; n < 96; n++) {
  const body = newPet(`Animal ${n}`, categories[n % 4], petStatuses[n % 3]);
  pets.push((await app.call('POST', '/pets', { body })).json as Pet);
}

const list = async (query: string) => (await app.call('GET', `/pets?${query}`)).json;

describe('categoryId', () => {
  test.each(categories)('shows only the animals of the category, digit for digit: %s', async (category) => {
    const wanted = pets.filter(({ categoryId }) => categoryId === BigInt(category));
    expect(wanted).toHaveLength(24);
    expect(await list(`limit=100&categoryId=${category}`)).toEqual(wanted);
    expect(await walk(app, `/pets?limit=5&categoryId=${category}`)).toEqual(wanted);
  });

  test('shows none of a category without animals', async () => {
    expect(await list('categoryId=8')).toEqual([]);
  });

  test.each(['', 'x', '1.0', '01', '1,2', '%2B1', '9223372036854775808'])(
    '400 invalid_parameter when it is "%s"',
    async (categoryId) => {
      const answer = await app.call('GET', `/pets?categoryId=${categoryId}`);
      expect(answer.error).toMatchObject({ status: 400, code: 'invalid_parameter' });
      expect(faulty(answer)).toEqual(['query:categoryId']);
    },
  );
});

describe('id', () => {
  test('shows one animal, as getPet does', async () => {
    const answer = await app.call('GET', '/pets?id=7');
    expect(answer.text).toBe(`[${(await app.call('GET', '/pets/7')).text}]`);
    expect(linksOf(answer)).not.toHaveProperty('next');
  });

  test('shows those that there are, each once, by ascending id, whatever the order and the repetitions', async () => {
    expect(await list('id=9,3,9,5000,-1,0,9223372036854775807,3,1')).toEqual(
      [1n, 3n, 9n].flatMap((id) => pets.filter((pet) => pet.id === id)),
    );
    expect(await list('id=5000')).toEqual([]);
  });

  test('takes 100 ids, and longest ones', async () => {
    const ids = Array.from({ length: 100 }, (_, n) => n + 1);
    expect(await list(`limit=100&id=${ids.join(',')}`)).toEqual(pets);
    const long = Array.from({ length: 100 }, (_, n) => `-92233720368547757${String(n).padStart(2, '0')}`);
    expect(await list(`id=${long.join(',')}`)).toEqual([]);
  });

  const tooMany = Array.from({ length: 101 }, (_, n) => n + 1).join(',');
  test.each([
    ...['', ',', '1,', ',1', '1,,2', '1, 2', '1,x', '1.0', '01', '9223372036854775808', '1;2', tooMany],
  ])('400 invalid_parameter when it is "%s"', async (id) => {
    const answer = await app.call('GET', `/pets?id=${id}`);
    expect(answer.error).toMatchObject({ status: 400, code: 'invalid_parameter' });
    expect(faulty(answer)).toEqual(['query:id']);
  });
});

describe('minId and maxId', () => {
  const between = (least: bigint, most: bigint) => pets.filter(({ id }) => id >= least && id <= most);

  test.each([
    ['minId=95', between(95n, 96n)],
    ['maxId=2', between(1n, 2n)],
    ['minId=7&maxId=9', between(7n, 9n)],
    ['minId=7&maxId=7', between(7n, 7n)],
    ['minId=9&maxId=7', []],
    ['minId=97', []],
    ['maxId=0', []],
    ['minId=-9223372036854775808&maxId=1', between(1n, 1n)],
    ['minId=9223372036854775807&maxId=9223372036854775807', []],
  ])('return the animals from the one to the other, both included: %s', async (query, wanted) => {
    expect(await list(`limit=100&${query}`)).toEqual(wanted);
    expect(await walk(app, `/pets?limit=2&${query}`)).toEqual(wanted);
  });

  test('a page that ends with maxId has no next page', async () => {
    expect(linksOf(await app.call('GET', '/pets?limit=3&maxId=3'))).not.toHaveProperty('next');
    expect(linksOf(await app.call('GET', '/pets?limit=3&maxId=4'))).toHaveProperty('next');
  });
});

describe('together', () => {
  const ids = pets.filter(({ id }) => id % 2n === 0n).map(({ id }) => id);
  const filters: Readonly<Record<string, (pet: Pet) => boolean>> = {
    'status=sold': ({ status }) => status === 'sold',
    'categoryId=7': ({ categoryId }) => categoryId === 7n,
    [`id=${ids.join(',')}`]: ({ id }) => ids.includes(id),
    'minId=5': ({ id }) => id >= 5n,
    'maxId=90': ({ id }) => id <= 90n,
  };
  const names = Object.keys(filters);
  const combinations = Array.from({ length: 2 ** names.length }, (_, bits) =>
    names.filter((_name, at) => bits & (1 << at)),
  );

  test('every combination shows the animals that fit all of it, by their links, in any order of the filters', async () => {
    for (const combination of combinations) {
      const wanted = pets.filter((pet) => combination.every((name) => filters[name]?.(pet)));
      expect(wanted.length).toBeGreaterThan(0);
      for (const query of [combination, combination.toReversed()]) {
        expect(await walk(app, `/pets?${['limit=3', ...query].join('&')}`)).toEqual(wanted);
      }
    }
  });

  test('400 invalid_cursor for the cursor of any other combination', async () => {
    const others = [...combinations, ['categoryId=0'], ['status=pending'], ['id=1,2,3']];
    for (const combination of combinations) {
      const { next = '' } = linksOf(await app.call('GET', `/pets?${['limit=1', ...combination].join('&')}`));
      const cursor = new URLSearchParams(relative(next).split('?')[1]).get('cursor');
      for (const other of others.filter((one) => one.join() !== combination.join())) {
        const answer = await app.call('GET', `/pets?${[...other, `cursor=${cursor}`].join('&')}`);
        expect([other, answer.error.code]).toEqual([other, 'invalid_cursor']);
      }
    }
  });

  test('lists the mistakes of all of them at once', async () => {
    const answer = await app.call('GET', '/pets?id=x&categoryId=y&status=z&limit=0&colour=red');
    expect(faulty(answer).sort()).toEqual(
      ['categoryId', 'colour', 'id', 'limit', 'status'].map((name) => `query:${name}`),
    );
  });
});
