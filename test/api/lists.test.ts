/**
 * Behavior of pages and filters not covered by the random walk in `test/storage/every-operation.test.ts` or by
 * `every-mistake.test.ts`.
 */
import { describe, expect, test } from 'bun:test';
import { errorExample } from '../../scripts/openapi/error-examples.ts';
import { encodeCursor } from '../../src/contract/cursor.ts';
import type { Pet } from '../../src/contract/representations.ts';
import { petStatuses } from '../../src/domain/pet-status.ts';
import { startAppForFile, startTestApp } from '../support/app.ts';
import type { ErrorAnswer } from '../support/call.ts';
import { addPets, faulty, linksOf, newPet, relative, walk } from '../support/pets.ts';

const app = await startAppForFile();
// 111 animals: more than the largest page, and not a multiple of the default page size.
const pets: Pet[] = [];
for (let n = 0; n < 111; n++) {
  const body = newPet(`Animal ${n}`, String(n % 4), petStatuses[n % 3]);
  pets.push((await app.call('POST', '/pets', { body })).json as Pet);
}

const idsOf = (animals: readonly { id: bigint }[]) => animals.map(({ id }) => id);
const list = async (query: string) => (await app.call('GET', `/pets?${query}`)).json;

test('a list returns 20 animals in ascending id order by default', async () => {
  expect((await app.call('GET', '/pets')).json).toEqual(pets.slice(0, 20));
});

test('following the links of the largest pages returns every animal exactly once', async () => {
  expect(await walk(app, '/pets?limit=100')).toEqual(pets);
});

test('a list requested after another process has added animals includes them', async () => {
  await using fresh = await startTestApp();
  await fresh.call('POST', '/pets', { body: newPet() });
  for (const query of ['', '?status=sold']) await fresh.call('GET', `/pets${query}`);
  await fresh.operator.storage.write('createPet', {
    now: 0,
    body: { name: 'Foreign', categoryId: 1n, status: 'sold' },
  });
  expect((await fresh.call('GET', '/pets')).json).toHaveLength(2);
  expect((await fresh.call('GET', '/pets?status=sold')).json).toHaveLength(1);
});

describe('pages of animals', () => {
  test('contain each remaining animal exactly once while other animals are added and deleted', async () => {
    await using fresh = await startTestApp();
    const before = await addPets(fresh, 40, 'sold', 'pending');
    // After every page, removes the animal at the cursor and the next one.
    const removed = new Set<bigint>();
    const seen = await walk(fresh, '/pets?limit=3&status=sold', async (page) => {
      for (const id of [page.at(-1)?.id ?? 0n, (page.at(-1)?.id ?? 0n) + 4n]) {
        await fresh.call('DELETE', `/pets/${id}`);
        removed.add(id);
      }
      if (removed.size < 10) await addPets(fresh, 2, 'sold', 'pending');
    });
    const ids = idsOf(seen);
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => Number(a - b)));
    const stayed = before.filter(({ id, status }) => status === 'sold' && !removed.has(id));
    expect(stayed.length).toBeGreaterThan(5);
    expect(ids).toEqual(expect.arrayContaining(idsOf(stayed)));
  });

  test('are linked with absolute URLs if a public URL is configured', async () => {
    await using known = await startTestApp({ PUBLIC_URL: 'https://animals.example.com/store/' });
    await addPets(known, 2);
    const { first, next } = linksOf(await known.call('GET', '/pets?limit=1'));
    expect(first).toBe('https://animals.example.com/store/v1/pets?limit=1');
    expect(next).toStartWith('https://animals.example.com/store/v1/pets?limit=1&cursor=');
    expect((await known.call('GET', relative(next ?? ''))).json).toHaveLength(1);
  });
});

describe('the id filter', () => {
  test('returns each animal once in ascending id order, even if the ids are unordered or repeated', async () => {
    expect(await list('id=9,3,9,5000,-1,0,9223372036854775807,3,1')).toEqual(
      [1n, 3n, 9n].flatMap((id) => pets.filter((pet) => pet.id === id)),
    );
  });

  test('accepts 100 ids of maximum length', async () => {
    const ids = Array.from({ length: 100 }, (_, n) => n + 1);
    expect(await list(`limit=100&id=${ids.join(',')}`)).toEqual(pets.slice(0, 100));
    const long = Array.from({ length: 100 }, (_, n) => `-92233720368547757${String(n).padStart(2, '0')}`);
    expect(await list(`id=${long.join(',')}`)).toEqual([]);
    const repeated = ids.map((id) => `id=${id}`).join('&');
    expect(await list(`limit=100&minId=1&maxId=100&categoryId=-5&status=sold&${repeated}`)).toEqual([]);
    expect(await list(`limit=100&${repeated}`)).toEqual(pets.slice(0, 100));
    const message = 'must be 1 to 100 ids, separated by commas';
    for (const tooMany of [`${repeated}&id=101`, `id=${ids.join(',')}&id=101`]) {
      const { error } = await app.call('GET', `/pets?${tooMany}`);
      expect(error.details).toEqual([{ in: 'query', name: 'id', message }]);
    }
  });

  test('accepts repeated parameters, each of which may contain commas', async () => {
    const some = [1n, 3n, 9n].flatMap((id) => pets.filter((pet) => pet.id === id));
    for (const query of ['id=9&id=3&id=1', 'id=9&limit=20&id=3,1', 'id=9%2C3&id=1'])
      expect(await list(query)).toEqual(some);
    for (const query of ['id=9&id=', 'id=9&id=x', 'id=9,&id=1'])
      expect((await app.call('GET', `/pets?${query}`)).error.code).toBe('invalid_parameter');
  });
});

describe('the minId and maxId filters', () => {
  const between = (least: bigint, most: bigint) => pets.filter(({ id }) => id >= least && id <= most);

  test.each([
    ['minId=110', between(110n, 111n)],
    ['maxId=2', between(1n, 2n)],
    ['minId=7&maxId=7', between(7n, 7n)],
    ['minId=9&maxId=7', []],
    ['minId=-9223372036854775808&maxId=1', between(1n, 1n)],
    ['minId=9223372036854775807&maxId=9223372036854775807', []],
  ])('return the animals in the range, including both ends: %s', async (query, wanted) => {
    expect(await walk(app, `/pets?limit=2&${query}`)).toEqual(wanted);
  });

  test('return no next link once the animal with maxId has been listed', async () => {
    expect(linksOf(await app.call('GET', '/pets?limit=3&maxId=3'))).not.toHaveProperty('next');
    expect(linksOf(await app.call('GET', '/pets?limit=3&maxId=4'))).toHaveProperty('next');
  });
});

// The random walk combines at most two filters.
test('every combination of filters, in any order, lists exactly the animals that match all of them', async () => {
  const ids = pets
    .filter(({ id }) => id % 2n === 1n)
    .map(({ id }) => id)
    .slice(0, 50);
  const filters: Readonly<Record<string, (pet: Pet) => boolean>> = {
    'status=sold': ({ status }) => status === 'sold',
    'categoryId=0': ({ categoryId }) => categoryId === 0n,
    [`id=${ids.join(',')}`]: ({ id }) => ids.includes(id),
    'minId=5': ({ id }) => id >= 5n,
    'maxId=90': ({ id }) => id <= 90n,
  };
  const names = Object.keys(filters);
  for (let chosen = 0; chosen < 2 ** names.length; chosen++) {
    const combination = names.filter((_name, at) => chosen & (1 << at));
    const wanted = pets.filter((pet) => combination.every((name) => filters[name]?.(pet)));
    expect(wanted.length).toBeGreaterThan(0);
    for (const query of [combination, combination.toReversed()]) {
      expect(await walk(app, `/pets?${['limit=5', ...query].join('&')}`)).toEqual(wanted);
    }
  }
});

describe('400 for a list', () => {
  test.each([
    ['limit=0', 'from 1 to 100'],
    ['status=lost', '"available", "pending", "sold"'],
    ['status=sold&status=sold', 'more than once'],
    ['constructor=sold', 'constructor'],
  ])('with invalid_parameter identifies the error in %s', async (query, message) => {
    const { error } = await app.call('GET', `/pets?${query}`);
    expect([error.code, error.details?.length]).toEqual(['invalid_parameter', 1]);
    expect(error.message).toContain(message);
  });

  test('with invalid_parameter lists the errors in all parameters', async () => {
    const answer = await app.call('GET', '/pets?id=x&categoryId=y&status=z&limit=0&colour=red');
    expect(faulty(answer).sort()).toEqual(
      ['categoryId', 'colour', 'id', 'limit', 'status'].map((name) => `query:${name}`),
    );
  });

  const sold = encodeCursor({ after: 5n, filters: 'sold' });
  test.each([
    [`limit=0&cursor=${sold}`, ['cursor', 'limit']],
    [`limit=0&cursor=${sold}&status=pending`, ['cursor', 'limit']],
    [`limit=0&cursor=${sold}&status=sold`, ['limit']],
    ['stauts=sold&cursor=zzz', ['cursor', 'stauts']],
    ['status=lost&cursor=zzz', ['cursor', 'status']],
    ['cursor=zzz&cursor=zzz&limit=0', ['cursor', 'limit']],
  ])('lists an invalid cursor along with other errors: %s', async (query, names) => {
    const answer = await app.call('GET', `/pets?${query}`);
    expect(answer.error).toMatchObject({ status: 400, code: 'invalid_parameter' });
    expect(faulty(answer).sort()).toEqual(names.map((name) => `query:${name}`));
  });

  test.each(['status=lost', 'status=sold&status=pending'])(
    'does not list a cursor as invalid because of an invalid filter: %s',
    async (status) => {
      expect(faulty(await app.call('GET', `/pets?cursor=${sold}&${status}`))).toEqual(['query:status']);
    },
  );

  test('lists a repeated parameter without validating its values', async () => {
    const answer = await app.call('GET', '/pets?limit=0&limit=5');
    expect(answer.error.details).toEqual([
      { in: 'query', name: 'limit', message: 'is given more than once' },
    ]);
  });

  test.each(['', 'x', `${sold}x`, sold.slice(1), `${sold}%3D`, 'x'.repeat(5_000)])(
    'with invalid_cursor is returned for a cursor that the service did not issue: "%s"',
    async (text) => {
      const answer = await app.call('GET', `/pets?status=sold&cursor=${text}`);
      // The response must equal the only example in the contract.
      expect(answer.error).toEqual(errorExample('invalid_cursor') as ErrorAnswer);
    },
  );
});
