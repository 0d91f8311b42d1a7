import { afterAll, describe, expect, test } from 'bun:test';
import { operations } from '../../src/contract/operations.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import type { Answer } from '../support/call.ts';
import { addPets, linksOf } from '../support/pets.ts';

const app = await startTestApp();
await addPets(app, 3);
afterAll(() => app[Symbol.asyncDispose]());

/** An answer of getPet for each of its statuses. */
async function answersByStatus(of: TestApp): Promise<Record<number, Answer>> {
  const spent = await of.tenant('enterprise', { perMinute: 1, perDay: 1 });
  await of.call('GET', '/pets', { key: spent.key });
  return {
    200: await of.call('GET', '/pets/1'),
    400: await of.call('GET', '/pets/1?verbose=1'),
    401: await of.call('GET', '/pets/1', { key: null }),
    404: await of.call('GET', '/pets/99'),
    429: await of.call('GET', '/pets/1', { key: spent.key }),
  };
}

describe('200', () => {
  test('is the animal, members in the order id, name, categoryId, status', async () => {
    const { text } = await app.call('GET', '/pets/2');
    expect(text).toBe('{"id":2,"name":"Animal 1","categoryId":1,"status":"available"}');
  });

  test('takes a query without parameters for none', async () => {
    for (const query of ['?', '?&']) expect((await app.call('GET', `/pets/2${query}`)).status).toBe(200);
  });

  test('shows an animal that another process added', async () => {
    await using fresh = await startTestApp();
    expect((await fresh.call('GET', '/pets/1')).status).toBe(404);
    const pet = await fresh.operator.storage.write('createPet', {
      body: {
        name: 'Foreign',
        categoryId: 1n,
        status: 'sold',
      },
    });
    expect((await fresh.call('GET', `/pets/${pet.id}`)).json).toEqual(pet);
  });
});

describe('404 pet_not_found', () => {
  test.each([
    ...['0', '-1', '99', '9223372036854775807', '9223372036854775808', '1'.repeat(1_000)],
    ...['01', '1.0', '1e0', '%2B1', '-0', '0x1', '1n', '%201', '1%0a', '1%00', '1,2', '٢'],
    ...['x', 'null', '__proto__', ':petId', '%', '%zz', '%ff', '%c0%af'],
  ])('when no animal can have the id: %s', async (petId) => {
    const answer = await app.call('GET', `/pets/${petId}`);
    expect(answer.error).toEqual({
      code: 'pet_not_found',
      message: 'There is no animal with this id.',
      status: 404,
    });
  });
});

describe('deprecation', () => {
  test('is on every response: Deprecation, Sunset, links to the successor and the documentation', async () => {
    for (const [status, answer] of Object.entries(await answersByStatus(app))) {
      expect(answer.status).toBe(Number(status));
      const announced = (operations.getPet.deprecation?.announcedAt.getTime() ?? 0) / 1_000;
      expect(answer.header('Deprecation')).toBe(`@${announced}`);
      expect(answer.header('Sunset')).toBe('Thu, 05 Dec 2030 00:00:00 GMT');
      expect(linksOf(answer)).toMatchObject({ 'successor-version': '/v1/pets', deprecation: '/docs' });
    }
  });

  test('is on no response of the other operations', async () => {
    const others = [
      await app.call('GET', '/pets'),
      await app.call('PATCH', '/pets/1', { body: '{}' }),
      await app.call('GET', '/elsewhere'),
    ];
    for (const { headers } of others) {
      expect(headers.has('Deprecation')).toBe(false);
      expect(headers.has('Sunset')).toBe(false);
    }
  });

  test('links absolutely when a public address is configured', async () => {
    await using known = await startTestApp({ PUBLIC_URL: 'https://animals.example.com' });
    expect(linksOf(await known.call('GET', '/pets/1'))).toEqual({
      'successor-version': 'https://animals.example.com/v1/pets',
      deprecation: 'https://animals.example.com/docs',
      help: 'https://animals.example.com/docs/errors/pet_not_found',
    });
  });
});

describe('410 operation_removed', () => {
  test('from the sunset on, to the millisecond, for every id', async () => {
    await using old = await startTestApp();
    await addPets(old, 1);
    old.clock.set(Date.parse('2030-12-05T00:00:00Z') - 1);
    expect((await old.call('GET', '/pets/1')).status).toBe(200);
    expect((await old.call('GET', '/pets/99')).status).toBe(404);
    old.clock.set('2030-12-05T00:00:00Z');
    for (const petId of ['1', '99', 'x']) {
      const answer = await old.call('GET', `/pets/${petId}`);
      expect(answer.error).toMatchObject({ status: 410, code: 'operation_removed' });
      expect(answer.header('Sunset')).toBe('Thu, 05 Dec 2030 00:00:00 GMT');
      expect(linksOf(answer)).toHaveProperty('successor-version', '/v1/pets');
    }
    expect((await old.call('GET', '/pets')).status).toBe(200);
  });

  test('from the instant in GET_PET_SUNSET, which Sunset states', async () => {
    await using early = await startTestApp({ GET_PET_SUNSET: '2027-01-15T10:00:01Z' });
    await addPets(early, 1);
    const before = await early.call('GET', '/pets/1');
    expect(before.status).toBe(200);
    expect(before.header('Sunset')).toBe('Fri, 15 Jan 2027 10:00:01 GMT');
    early.clock.advance(1);
    expect((await early.call('GET', '/pets/1')).error.code).toBe('operation_removed');
  });
});
