import { afterAll, describe, expect, test } from 'bun:test';
import { startTestApp, type TestApp } from '../support/app.ts';
import { addPets, faulty, newPet } from '../support/pets.ts';

const app = await startTestApp();
afterAll(() => app[Symbol.asyncDispose]());

const inventory = async (of: TestApp, query = '') => (await of.call('GET', `/inventory${query}`)).text;

describe('200', () => {
  test('has zeros in a new store, members in the order available, pending, sold', async () => {
    expect(await inventory(app)).toBe('{"available":0,"pending":0,"sold":0}');
    expect(await inventory(app, '?categoryId=7')).toBe('{"available":0,"pending":0,"sold":0}');
  });

  test('follows every change of an animal, in total and in its category', async () => {
    await using own = await startTestApp();
    const all = '{"available":1,"pending":0,"sold":0}';
    const { json } = await own.call('POST', '/pets', { body: newPet('Ozzy', '7') });
    const path = `/pets/${(json as { id: bigint }).id}`;
    expect([await inventory(own), await inventory(own, '?categoryId=7')]).toEqual([all, all]);
    await own.call('PATCH', path, { body: '{"categoryId":-8}' });
    expect(await inventory(own, '?categoryId=7')).toBe('{"available":0,"pending":0,"sold":0}');
    expect(await inventory(own, '?categoryId=-8')).toBe(all);
    await own.call('PATCH', path, { body: '{"status":"sold"}' });
    expect(await inventory(own)).toBe('{"available":0,"pending":0,"sold":1}');
    expect(await inventory(own, '?categoryId=-8')).toBe('{"available":0,"pending":0,"sold":1}');
    await own.call('DELETE', path);
    expect(await inventory(own)).toBe('{"available":0,"pending":0,"sold":0}');
  });

  test('follows an order: pending when placed, available when cancelled, sold when delivered', async () => {
    await using own = await startTestApp();
    await addPets(own, 2);
    const { id } = (await own.call('POST', '/orders', { body: '{"petId":1}' })).json as { id: bigint };
    expect(await inventory(own)).toBe('{"available":1,"pending":1,"sold":0}');
    await own.call('POST', `/orders/${id}/cancel`);
    expect(await inventory(own)).toBe('{"available":2,"pending":0,"sold":0}');
    const again = (await own.call('POST', '/orders', { body: '{"petId":1}' })).json as { id: bigint };
    for (const step of ['approve', 'deliver']) await own.call('POST', `/orders/${again.id}/${step}`);
    expect(await inventory(own)).toBe('{"available":1,"pending":0,"sold":1}');
    await own.call('POST', `/orders/${again.id}/return`);
    expect(await inventory(own)).toBe('{"available":2,"pending":0,"sold":0}');
  });

  test('is the sum of its categories, and the same after a restart', async () => {
    await using own = await startTestApp();
    for (let n = 0; n < 12; n++) {
      const status = ['available', 'pending', 'sold'][n % 3];
      await own.call('POST', '/pets', { body: newPet(`Animal ${n}`, String(n % 2), status) });
    }
    const counts = async () => [
      await inventory(own),
      await inventory(own, '?categoryId=0'),
      await inventory(own, '?categoryId=1'),
    ];
    const half = '{"available":2,"pending":2,"sold":2}';
    expect(await counts()).toEqual(['{"available":4,"pending":4,"sold":4}', half, half]);
    await own.restart();
    expect(await counts()).toEqual(['{"available":4,"pending":4,"sold":4}', half, half]);
  });

  test('ignores a refused change', async () => {
    await using own = await startTestApp();
    await addPets(own, 1, 'sold');
    await own.call('PATCH', '/pets/1', { body: '{"status":"pending"}' });
    await own.call('DELETE', '/pets/1', { headers: { 'If-Match': '"other"' } });
    expect(await inventory(own)).toBe('{"available":0,"pending":0,"sold":1}');
  });

  test('counts what another process added', async () => {
    await using own = await startTestApp();
    await inventory(own);
    const body = { name: 'Foreign', categoryId: 2n ** 63n - 1n, status: 'sold' } as const;
    await own.operator.storage.write('createPet', { body });
    expect(await inventory(own)).toBe('{"available":0,"pending":0,"sold":1}');
    expect(await inventory(own, '?categoryId=9223372036854775807')).toBe(
      '{"available":0,"pending":0,"sold":1}',
    );
  });
});

describe('400 invalid_parameter', () => {
  test.each(['', 'x', '1,2', '9223372036854775808'])('when categoryId is "%s"', async (categoryId) => {
    const answer = await app.call('GET', `/inventory?categoryId=${categoryId}`);
    expect(answer.error).toMatchObject({ status: 400, code: 'invalid_parameter' });
    expect(faulty(answer)).toEqual(['query:categoryId']);
  });

  test('when categoryId is given twice, and for a filter that lists have', async () => {
    const answer = await app.call('GET', '/inventory?categoryId=1&categoryId=1&status=sold');
    expect(faulty(answer).sort()).toEqual(['query:categoryId', 'query:status']);
  });
});
