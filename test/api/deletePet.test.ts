import { afterAll, describe, expect, test } from 'bun:test';
import { startTestApp } from '../support/app.ts';
import { addPets, newPet } from '../support/pets.ts';

const app = await startTestApp();
afterAll(() => app[Symbol.asyncDispose]());

async function added(): Promise<bigint> {
  const { json } = await app.call('POST', '/pets', { body: newPet() });
  return (json as { id: bigint }).id;
}

async function ordered(id: bigint): Promise<bigint> {
  const { json } = await app.call('POST', '/orders', { body: `{"petId":${id}}` });
  return (json as { id: bigint }).id;
}

describe('204', () => {
  test('without a body, and the animal is gone from every operation', async () => {
    const id = await added();
    await app.call('GET', `/pets?id=${id}`);
    const answer = await app.call('DELETE', `/pets/${id}`);
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect((await app.call('GET', `/pets/${id}`)).error.code).toBe('pet_not_found');
    expect((await app.call('GET', `/pets?id=${id}`)).text).toBe('[]');
    expect((await app.call('PATCH', `/pets/${id}`, { body: '{}' })).error.code).toBe('pet_not_found');
    expect((await app.call('POST', '/orders', { body: `{"petId":${id}}` })).error.code).toBe('invalid_body');
  });

  test('for one of many concurrent requests, 404 for the others', async () => {
    const id = await added();
    const answers = await Promise.all(Array.from({ length: 10 }, () => app.call('DELETE', `/pets/${id}`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([204, ...Array(9).fill(404)]);
  });

  test('never assigns the id again, even the last one and after a restart', async () => {
    await using own = await startTestApp();
    const [, , last] = await addPets(own, 3);
    await own.call('DELETE', `/pets/${last?.id}`);
    await own.restart();
    const { json } = await own.call('POST', '/pets', { body: newPet() });
    expect(json).toMatchObject({ id: 4n });
    for (const id of [1, 2, 4]) await own.call('DELETE', `/pets/${id}`);
    await own.restart();
    expect((await own.call('GET', '/pets')).text).toBe('[]');
    expect((await own.call('POST', '/pets', { body: newPet() })).json).toMatchObject({ id: 5n });
  });

  test('keeps its orders, which still show its id', async () => {
    const id = await added();
    const order = await ordered(id);
    await app.call('POST', `/orders/${order}/cancel`);
    expect((await app.call('DELETE', `/pets/${id}`)).status).toBe(204);
    expect((await app.call('GET', `/orders/${order}`)).json).toMatchObject({
      petId: id,
      status: 'cancelled',
    });
  });

  test('ignores a body', async () => {
    const id = await added();
    expect((await app.call('DELETE', `/pets/${id}`, { body: '{', type: 'text/plain' })).status).toBe(204);
  });
});

describe('409 pet_reserved', () => {
  test('while an order holds the animal, naming it, and the animal stays', async () => {
    const id = await added();
    const order = await ordered(id);
    for (const step of ['', 'approve']) {
      if (step !== '') await app.call('POST', `/orders/${order}/${step}`);
      const answer = await app.call('DELETE', `/pets/${id}`);
      expect(answer.error).toMatchObject({ status: 409, code: 'pet_reserved' });
      expect(answer.error.message).toContain(`order ${order}`);
      expect((await app.call('GET', `/pets/${id}`)).json).toMatchObject({ status: 'pending' });
    }
    await app.call('POST', `/orders/${order}/deliver`);
    expect((await app.call('DELETE', `/pets/${id}`)).status).toBe(204);
  });

  test('of a concurrent order and removal one succeeds', async () => {
    for (let round = 0; round < 10; round++) {
      const id = await added();
      const [order, removal] = await Promise.all([
        app.call('POST', '/orders', { body: `{"petId":${id}}` }),
        app.call('DELETE', `/pets/${id}`),
      ]);
      expect([
        [201, 409],
        [400, 204],
      ]).toContainEqual([order.status, removal.status]);
    }
  });
});

test.each(['999999999', '0', 'x', '9223372036854775808'])(
  '404 pet_not_found for %s, before the preconditions',
  async (id) => {
    const headers = { 'If-Match': '"other"' };
    expect((await app.call('DELETE', `/pets/${id}`, { headers })).error.code).toBe('pet_not_found');
  },
);
