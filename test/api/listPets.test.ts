import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { errorExample } from '../../scripts/openapi/error-examples.ts';
import { writeCursor } from '../../src/domain/cursor.ts';
import { petStatuses } from '../../src/domain/pet-status.ts';
import { startTestApp } from '../support/app.ts';
import type { ErrorAnswer } from '../support/call.ts';
import { addPets, faulty, linksOf, newPet, relative, walk } from '../support/pets.ts';

const empty = await startTestApp();
const app = await startTestApp();
// 111 animals: more than the largest page, and no multiple of the default one.
const pets = await addPets(app, 111, ...petStatuses);
afterAll(() => Promise.all([empty[Symbol.asyncDispose](), app[Symbol.asyncDispose]()]));

const idsOf = (animals: readonly { id: bigint }[]) => animals.map(({ id }) => id);

describe('200', () => {
  test('is an empty array without rel="next" when there are no animals', async () => {
    const answer = await empty.call('GET', '/pets');
    expect(answer.text).toBe('[]');
    expect(linksOf(answer)).toEqual({ first: '/v1/pets?limit=20' });
  });

  test('has 20 animals by ascending id when no limit is given', async () => {
    expect((await app.call('GET', '/pets')).json).toEqual(pets.slice(0, 20));
  });

  test.each([1, 2, 99, 100])('has at most the limit of %i animals', async (limit) => {
    expect((await app.call('GET', `/pets?limit=${limit}`)).json).toEqual(pets.slice(0, limit));
  });

  test('states the members in the order id, name, categoryId, status', async () => {
    const { text } = await app.call('GET', '/pets?limit=1');
    expect(text).toBe('[{"id":1,"name":"Animal 0","categoryId":0,"status":"available"}]');
  });

  test.each([...petStatuses])('has only animals that are %s when asked for them', async (status) => {
    const { json } = await app.call('GET', `/pets?limit=100&status=${status}`);
    expect(json).toEqual(pets.filter((pet) => pet.status === status));
  });

  test('reads parameters that are percent-encoded, in any order', async () => {
    const plain = await app.call('GET', '/pets?limit=3&status=sold');
    for (const query of ['status=sold&limit=3', '%6cimit=%33&status=%73old', '&limit=3&&status=sold&']) {
      expect((await app.call('GET', `/pets?${query}`)).text).toBe(plain.text);
    }
    expect((await app.call('GET', '/pets?')).json).toEqual(pets.slice(0, 20));
  });

  test('shows an animal as soon as it is added, also one another process added', async () => {
    await using fresh = await startTestApp();
    for (let count = 1n; count <= 3n; count++) {
      await fresh.call('POST', '/pets', { body: newPet() });
      expect((await fresh.call('GET', '/pets')).json).toHaveLength(Number(count));
      expect((await fresh.call('GET', '/pets?status=sold')).json).toEqual([]);
    }
    await fresh.operator.storage.write('createPet', {
      body: { name: 'Foreign', categoryId: 1n, status: 'sold' },
    });
    expect((await fresh.call('GET', '/pets')).json).toHaveLength(4);
    expect((await fresh.call('GET', '/pets?status=sold')).json).toHaveLength(1);
  });
});

describe('200: pages', () => {
  test('links to the first and the next page, with the filters of this one', async () => {
    const { first, next } = linksOf(await app.call('GET', '/pets?status=sold&limit=5'));
    expect(first).toBe('/v1/pets?limit=5&status=sold');
    expect(next).toMatch(/^\/v1\/pets\?limit=5&status=sold&cursor=[A-Za-z0-9_-]+$/);
    const second = await app.call('GET', relative(next ?? ''));
    expect(linksOf(second).first).toBe('/v1/pets?limit=5&status=sold');
    expect(second.json).toEqual(pets.filter(({ status }) => status === 'sold').slice(5, 10));
  });

  test('has no rel="next" on the last page, also when it is full', async () => {
    const sold = pets.filter(({ status }) => status === 'sold');
    expect(linksOf(await app.call('GET', `/pets?status=sold&limit=${sold.length}`))).not.toHaveProperty(
      'next',
    );
    const before = linksOf(await app.call('GET', `/pets?status=sold&limit=${sold.length - 1}`));
    const last = await app.call('GET', relative(before.next ?? ''));
    expect(last.json).toEqual(sold.slice(-1));
    expect(linksOf(last)).not.toHaveProperty('next');
  });

  test.each([
    [1, ''],
    [7, ''],
    [37, ''],
    [100, ''],
    [4, '&status=pending'],
    [37, '&status=pending'],
  ])('are walked by their links: limit %i%s shows every animal once', async (limit, filter) => {
    const wanted = pets.filter(({ status }) => filter === '' || filter.endsWith(status));
    expect(await walk(app, `/pets?limit=${limit}${filter}`)).toEqual(wanted);
  });

  test('walked while animals are added show every animal that was there exactly once', async () => {
    await using fresh = await startTestApp();
    const before = await addPets(fresh, 30, 'sold', 'pending');
    for (const filter of ['', '&status=sold']) {
      let added = 0;
      const seen = await walk(fresh, `/pets?limit=4${filter}`, async () => {
        if (added++ < 12) await addPets(fresh, 2, 'sold', 'pending');
      });
      const ids = idsOf(seen);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids).toEqual([...ids].sort((a, b) => Number(a - b)));
      const wanted = before.filter(({ status }) => filter === '' || status === 'sold');
      expect(ids).toEqual(expect.arrayContaining(idsOf(wanted)));
    }
  });

  test('walked while animals are removed show every animal that stays exactly once', async () => {
    await using fresh = await startTestApp();
    const before = await addPets(fresh, 40);
    using database = new Database(fresh.config.databaseUrl.replace('sqlite:', ''));
    // Two removed after every page: the page's last, where the cursor stands, and one that is still to come.
    const removed = new Set<bigint>();
    const seen = await walk(fresh, '/pets?limit=3', async (page) => {
      for (const id of [page.at(-1)?.id ?? 0n, (page.at(-1)?.id ?? 0n) + 2n]) {
        database.run('DELETE FROM pets WHERE id = ?', [id]);
        removed.add(id);
      }
    });
    const ids = idsOf(seen);
    expect(new Set(ids).size).toBe(ids.length);
    const stayed = before.filter(({ id }) => !removed.has(id));
    expect(stayed.length).toBeGreaterThan(10);
    expect(ids).toEqual(expect.arrayContaining(idsOf(stayed)));
  });

  test('go on from the same animal when the limit changes', async () => {
    const { next } = linksOf(await app.call('GET', '/pets?limit=10'));
    const answer = await app.call('GET', relative(next ?? '').replace('limit=10', 'limit=3'));
    expect(answer.json).toEqual(pets.slice(10, 13));
  });

  test('are linked by absolute addresses when a public address is configured', async () => {
    await using known = await startTestApp({ PUBLIC_URL: 'https://animals.example.com/store/' });
    await addPets(known, 2);
    const { first, next } = linksOf(await known.call('GET', '/pets?limit=1'));
    expect(first).toBe('https://animals.example.com/store/v1/pets?limit=1');
    expect(next).toStartWith('https://animals.example.com/store/v1/pets?limit=1&cursor=');
    expect((await known.call('GET', relative(next ?? ''))).json).toHaveLength(1);
  });

  test('after an animal beyond all there are is empty', async () => {
    const cursor = writeCursor({ after: 2n ** 63n - 1n, filters: '' });
    expect((await app.call('GET', `/pets?cursor=${cursor}`)).text).toBe('[]');
  });
});

describe('400 invalid_parameter', () => {
  const notALimit = [
    '0',
    '101',
    '-1',
    '05',
    '1.0',
    '1e1',
    '%2B5',
    '',
    '%20',
    '1%20',
    '%205',
    'ten',
    '0x10',
    '٣',
  ];
  test.each([...notALimit, '999', '1000', '1'.repeat(400), 'null', '1,2', '1%00'])(
    'when limit is "%s"',
    async (limit) => {
      const answer = await app.call('GET', `/pets?limit=${limit}`);
      expect(answer.error).toMatchObject({ status: 400, code: 'invalid_parameter' });
      expect(faulty(answer)).toEqual(['query:limit']);
      expect(answer.error.details?.[0]?.message).toContain('from 1 to 100');
    },
  );

  test.each(['', 'Sold', 'SOLD', 'sold%20', 'sold,pending', 'lost', 'null', '%00', 'available%0a'])(
    'when status is "%s"',
    async (status) => {
      const answer = await app.call('GET', `/pets?status=${status}`);
      expect(answer.error).toMatchObject({ status: 400, code: 'invalid_parameter' });
      expect(faulty(answer)).toEqual(['query:status']);
      for (const known of petStatuses) expect(answer.error.details?.[0]?.message).toContain(known);
    },
  );

  test.each(['limit=5&limit=5', 'status=sold&status=sold', 'limit=5&%6cimit=6', 'limit=5&limit=5&limit=5'])(
    'when a parameter is given more than once, blaming it once: %s',
    async (query) => {
      const answer = await app.call('GET', `/pets?${query}`);
      expect(answer.error).toMatchObject({ status: 400, code: 'invalid_parameter' });
      expect(faulty(answer)).toEqual([`query:${query.startsWith('limit') ? 'limit' : 'status'}`]);
      expect(answer.error.message).toContain('more than once');
    },
  );

  test.each(['stauts', 'Limit', 'limit[]', '__proto__', 'constructor', 'toString', 'offset', 'page'])(
    'when a parameter is unknown, naming it: %s',
    async (name) => {
      const answer = await app.call('GET', `/pets?${name}=sold`);
      expect(answer.error).toMatchObject({ status: 400, code: 'invalid_parameter' });
      expect(faulty(answer)).toEqual([`query:${name}`]);
      expect(answer.error.message).toContain(name);
    },
  );

  test('lists all mistakes at once', async () => {
    const answer = await app.call('GET', '/pets?limit=0&status=lost&stauts=sold');
    expect(faulty(answer).sort()).toEqual(['query:limit', 'query:status', 'query:stauts']);
  });

  const sold = writeCursor({ after: 5n, filters: 'sold' });
  test.each([
    ['limit=0&cursor=zzz', ['cursor', 'limit']],
    [`limit=0&cursor=${sold}`, ['cursor', 'limit']],
    [`limit=0&cursor=${sold}&status=pending`, ['cursor', 'limit']],
    [`limit=0&cursor=${sold}&status=sold`, ['limit']],
    ['stauts=sold&cursor=zzz', ['cursor', 'stauts']],
    ['status=lost&cursor=zzz', ['cursor', 'status']],
    ['limit=5&limit=5&cursor=zzz&status=lost', ['cursor', 'limit', 'status']],
    ['cursor=zzz&cursor=zzz&limit=0', ['cursor', 'limit']],
  ])('lists the mistake of a cursor with the others: %s', async (query, names) => {
    const answer = await app.call('GET', `/pets?${query}`);
    expect(answer.error).toMatchObject({ status: 400, code: 'invalid_parameter' });
    expect(faulty(answer).sort()).toEqual(names.map((name) => `query:${name}`));
  });

  test.each(['status=lost', 'status=sold&status=pending'])(
    'does not reject a cursor for a filter that is a mistake itself: %s',
    async (status) => {
      expect(faulty(await app.call('GET', `/pets?cursor=${sold}&${status}`))).toEqual(['query:status']);
    },
  );

  test('says of a parameter given twice only that: which of its values counts is not known', async () => {
    const answer = await app.call('GET', '/pets?limit=0&limit=5');
    expect(answer.error.details).toEqual([
      { in: 'query', name: 'limit', message: 'is given more than once' },
    ]);
  });
});

describe('400 invalid_cursor', () => {
  const cursor = writeCursor({ after: 5n, filters: 'sold' });

  test.each([
    '',
    'x',
    'AAAA',
    '%00',
    '5',
    `${cursor}x`,
    `${cursor.slice(1)}`,
    `${cursor}%3D`,
    'x'.repeat(5_000),
  ])('when the cursor is none the service made: "%s"', async (text) => {
    const answer = await app.call('GET', `/pets?status=sold&cursor=${text}`);
    // Its one example in the contract is the answer, to the letter.
    expect(answer.error).toEqual(errorExample('invalid_cursor') as ErrorAnswer);
  });

  test.each(['', '&status=pending', '&status=available'])(
    'when the cursor was made for another filter: status=sold, used with "%s"',
    async (filter) => {
      const answer = await app.call('GET', `/pets?cursor=${cursor}${filter}`);
      expect(answer.error).toMatchObject({ status: 400, code: 'invalid_cursor' });
      expect(faulty(answer)).toEqual(['query:cursor']);
    },
  );

  test('when the cursor names an id no animal can have', async () => {
    const text = writeCursor({ after: 2n ** 63n, filters: '' });
    const answer = await app.call('GET', `/pets?cursor=${text}`);
    expect(answer.error).toMatchObject({ status: 400, code: 'invalid_cursor' });
  });
});
