import { afterAll, describe, expect, test } from 'bun:test';
import { errorExample } from '../../scripts/openapi/error-examples.ts';
import { writeCursor } from '../../src/contract/cursor.ts';
import { petStatuses } from '../../src/domain/pet-status.ts';
import { startTestApp } from '../support/app.ts';
import type { ErrorAnswer } from '../support/call.ts';
import { addPets, faulty, linksOf, newPet, relative, walk } from '../support/pets.ts';

const app = await startTestApp();
// 111 animals: more than the largest page, and no multiple of the default one.
const pets = await addPets(app, 111, ...petStatuses);
afterAll(() => app[Symbol.asyncDispose]());

const idsOf = (animals: readonly { id: bigint }[]) => animals.map(({ id }) => id);

describe('200', () => {
  test('is an empty array without rel="next" when there are no animals', async () => {
    await using empty = await startTestApp();
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
    [7, ''],
    [37, ''],
    [100, ''],
    [4, '&status=pending'],
    [37, '&status=pending'],
  ])('are walked by their links: limit %i%s shows every animal once', async (limit, filter) => {
    const wanted = pets.filter(({ status }) => filter === '' || filter.endsWith(status));
    expect(await walk(app, `/pets?limit=${limit}${filter}`)).toEqual(wanted);
  });

  test('show every animal that was there throughout exactly once, while others are added and removed', async () => {
    await using fresh = await startTestApp();
    const before = await addPets(fresh, 40, 'sold', 'pending');
    // After every page, the animal where the cursor stands and one still to come are removed.
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

  test('continue after the same animal when the limit changes', async () => {
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
  test.each([
    ...['0', '101', '-1', '05', '1.0', '1e1', '%2B5', '', '%20', '1%20', 'ten', '0x10', '٣', '1000'],
    ...['1'.repeat(400), '1,2', '1%00'],
  ])('when limit is "%s"', async (limit) => {
    const answer = await app.call('GET', `/pets?limit=${limit}`);
    expect(answer.error).toMatchObject({ status: 400, code: 'invalid_parameter' });
    expect(faulty(answer)).toEqual(['query:limit']);
    expect(answer.error.details?.[0]?.message).toContain('from 1 to 100');
  });

  test.each(['', 'Sold', 'sold%20', 'sold,pending', 'lost', 'available%0a'])(
    'when status is "%s"',
    async (status) => {
      const answer = await app.call('GET', `/pets?status=${status}`);
      expect(answer.error).toMatchObject({ status: 400, code: 'invalid_parameter' });
      expect(faulty(answer)).toEqual(['query:status']);
      for (const known of petStatuses) expect(answer.error.details?.[0]?.message).toContain(known);
    },
  );

  test.each(['status=sold&status=sold', 'limit=5&%6cimit=6', 'limit=5&limit=5&limit=5'])(
    'when a parameter is repeated, blaming it once: %s',
    async (query) => {
      const answer = await app.call('GET', `/pets?${query}`);
      expect(answer.error).toMatchObject({ status: 400, code: 'invalid_parameter' });
      expect(faulty(answer)).toEqual([`query:${query.startsWith('limit') ? 'limit' : 'status'}`]);
      expect(answer.error.message).toContain('more than once');
    },
  );

  test.each(['Limit', 'limit[]', '__proto__', 'constructor', 'offset'])(
    'when a parameter is unknown, naming it: %s',
    async (name) => {
      const answer = await app.call('GET', `/pets?${name}=sold`);
      expect(answer.error).toMatchObject({ status: 400, code: 'invalid_parameter' });
      expect(faulty(answer)).toEqual([`query:${name}`]);
      expect(answer.error.message).toContain(name);
    },
  );

  const sold = writeCursor({ after: 5n, filters: 'sold' });
  test.each([
    [`limit=0&cursor=${sold}`, ['cursor', 'limit']],
    [`limit=0&cursor=${sold}&status=pending`, ['cursor', 'limit']],
    [`limit=0&cursor=${sold}&status=sold`, ['limit']],
    ['stauts=sold&cursor=zzz', ['cursor', 'stauts']],
    ['status=lost&cursor=zzz', ['cursor', 'status']],
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

  test('reports a repeated parameter without judging its values', async () => {
    const answer = await app.call('GET', '/pets?limit=0&limit=5');
    expect(answer.error.details).toEqual([
      { in: 'query', name: 'limit', message: 'is given more than once' },
    ]);
  });
});

describe('400 invalid_cursor', () => {
  const cursor = writeCursor({ after: 5n, filters: 'sold' });

  test.each([
    ...['', 'x', 'AAAA', '%00', '5', `${cursor}x`, cursor.slice(1), `${cursor}%3D`, 'x'.repeat(5_000)],
  ])('for a cursor the service never made: "%s"', async (text) => {
    const answer = await app.call('GET', `/pets?status=sold&cursor=${text}`);
    // Its one example in the contract is the answer, to the letter.
    expect(answer.error).toEqual(errorExample('invalid_cursor') as ErrorAnswer);
  });

  test('when the cursor names an id no animal can have', async () => {
    const text = writeCursor({ after: 2n ** 63n, filters: '' });
    const answer = await app.call('GET', `/pets?cursor=${text}`);
    expect(answer.error).toMatchObject({ status: 400, code: 'invalid_cursor' });
  });
});
