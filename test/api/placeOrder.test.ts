import { afterAll, describe, expect, test } from 'bun:test';
import { startTestApp } from '../support/app.ts';
import { buyerOf, type ShownOrder } from '../support/orders.ts';
import { faulty } from '../support/pets.ts';

const app = await startTestApp();
const buyer = await buyerOf(app);
afterAll(() => app[Symbol.asyncDispose]());

const place = (body: string) => buyer.call('POST', '/orders', { body });

describe('201', () => {
  test('is the order, members in the order of the contract, with Location and ETag', async () => {
    await using fresh = await startTestApp();
    const { call, addPet } = await buyerOf(fresh);
    expect(await addPet()).toBe(1n);
    const answer = await call('POST', '/orders', { body: '{"reference":"cart-1042","petId":1}' });
    expect(answer.status).toBe(201);
    expect(answer.text).toBe(
      '{"id":1,"petId":1,"status":"placed","reference":"cart-1042",' +
        '"createdAt":"2027-01-15T10:00:00.000Z","updatedAt":"2027-01-15T10:00:00.000Z"}',
    );
    expect(answer.header('Location')).toBe('/v1/orders/1');
    expect(answer.header('ETag')).toMatch(/^"[0-9a-z]+"$/);
  });

  test('has a Location that shows the same order under the same ETag, absolute with a public address', async () => {
    await using known = await startTestApp({ PUBLIC_URL: 'https://animals.example.com' });
    const { call, addPet, place: order } = await buyerOf(known);
    const answer = await order(await addPet());
    const location = answer.header('Location');
    expect(location).toStartWith('https://animals.example.com/v1/orders/');
    const again = await call('GET', location.replace('https://animals.example.com/v1', ''));
    expect([again.text, again.header('ETag')]).toEqual([answer.text, answer.header('ETag')]);
  });

  test('makes the animal pending, and leaves out a reference that was not given', async () => {
    const petId = await buyer.addPet();
    const answer = await buyer.place(petId);
    expect(Object.keys(answer.json as object)).toEqual(['id', 'petId', 'status', 'createdAt', 'updatedAt']);
    expect(await buyer.petStatus(petId)).toBe('pending');
  });

  test('states its time to the millisecond, UTC', async () => {
    await using fresh = await startTestApp();
    const { order } = await buyerOf(fresh);
    fresh.clock.advance(0.007);
    expect((await order()).createdAt).toBe('2027-01-15T10:00:00.007Z');
  });

  test.each(['.0', 'e0', '0e-1', '.000E+00'])(
    'takes a petId written as a number of that value: the digits, then %s',
    async (ending) => {
      const petId = await buyer.addPet();
      expect((await place(`{"petId":${petId}${ending}}`)).json).toMatchObject({ petId });
    },
  );

  test.each(['🐈'.repeat(255), ' \u00a0x ', "'; DROP TABLE orders;--"])(
    'keeps a reference exactly as sent: %s',
    async (reference) => {
      const body = `{"petId":${await buyer.addPet()},"reference":${JSON.stringify(reference)}}`;
      const order = (await place(body)).json as ShownOrder;
      expect(order).toMatchObject({ reference });
      expect(await buyer.shown(order.id)).toEqual(order);
    },
  );

  test('can be for an animal that was ordered before, once it is available again', async () => {
    const first = await buyer.order('cancel');
    const second = (await buyer.place(first.petId)).json as ShownOrder;
    expect(second).toMatchObject({ petId: first.petId, status: 'placed' });
    expect(second.id).toBeGreaterThan(first.id);
    expect((await buyer.shown(first.id)).status).toBe('cancelled');
  });
});

describe('one animal', () => {
  test('of concurrent orders one gets 201, the others learn that the animal is pending', async () => {
    const other = await buyerOf(app);
    const petId = await buyer.addPet();
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, at) => (at % 2 === 0 ? buyer : other).place(petId)),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([201, ...Array<number>(11).fill(409)]);
    for (const { error } of answers.filter(({ status }) => status === 409)) {
      expect(error.code).toBe('pet_not_available');
      expect(error.message).toContain('"pending"');
    }
    expect((await buyer.call('GET', `/orders?petId=${petId}`)).json).toHaveLength(1);
  });

  test('of a concurrent order and sale over the counter, one succeeds', async () => {
    for (let round = 0; round < 10; round++) {
      const petId = await buyer.addPet();
      const sell = buyer.call('PATCH', `/pets/${petId}`, { body: '{"status":"sold"}' });
      const [ordered, sold] = await Promise.all([buyer.place(petId), sell]);
      expect([ordered.status, sold.status].sort()).toSatisfy(
        (both) => String(both) === '200,409' || String(both) === '201,409',
      );
      expect(await buyer.petStatus(petId)).toBe(ordered.status === 201 ? 'pending' : 'sold');
    }
  });
});

describe('409 pet_not_available', () => {
  test.each(['pending', 'sold'] as const)(
    'names the status %s of the animal, and changes nothing',
    async (status) => {
      const petId = await buyer.addPet(status);
      const answer = await buyer.place(petId);
      expect(answer.error).toMatchObject({ status: 409, code: 'pet_not_available' });
      expect(answer.error.message).toContain(`"${status}"`);
      expect(await buyer.petStatus(petId)).toBe(status);
      expect((await buyer.call('GET', `/orders?petId=${petId}`)).text).toBe('[]');
    },
  );
});

describe('400 invalid_body', () => {
  test.each(['0', '999999', '9223372036854775807', '-9223372036854775808'])(
    'blames petId when no animal has it: %s',
    async (petId) => {
      const answer = await place(`{"petId":${petId}}`);
      expect(answer.error).toMatchObject({ status: 400, code: 'invalid_body' });
      expect(faulty(answer)).toEqual(['body:petId']);
    },
  );

  test('blames petId when the animal is removed', async () => {
    const petId = await buyer.addPet();
    await buyer.call('DELETE', `/pets/${petId}`);
    expect(faulty(await buyer.place(petId))).toEqual(['body:petId']);
  });

  test.each(['"1"', 'null', 'true', '[1]', '1.5', '9223372036854775808', '1e400'])(
    'blames petId when it is no int64: %s',
    async (petId) => {
      const answer = await place(`{"petId":${petId}}`);
      expect(answer.error).toMatchObject({ status: 400, code: 'invalid_body' });
      expect(faulty(answer)).toEqual(['body:petId']);
    },
  );

  test.each([
    ['null', 'null'],
    ['blank', '" \\u00a0"'],
    ['256 characters', `"${'x'.repeat(256)}"`],
    ['a control character', '"a\\u0000"'],
    ['a number', '1'],
  ])('blames a reference that is %s', async (_, reference) => {
    const petId = await buyer.addPet();
    const answer = await place(`{"petId":${petId},"reference":${reference}}`);
    expect(answer.error).toMatchObject({ status: 400, code: 'invalid_body' });
    expect(faulty(answer)).toEqual(['body:reference']);
    expect(await buyer.petStatus(petId)).toBe('available');
  });

  test.each([
    ['{}', ['body:petId']],
    [
      '{"petId":"1","reference":"","status":"approved","id":1}',
      ['body:petId', 'body:reference', 'body:status', 'body:id'],
    ],
    ['null', ['body:']],
  ])('lists all mistakes of %s', async (body, mistakes) => {
    const answer = await place(body);
    expect(answer.error).toMatchObject({ status: 400, code: 'invalid_body' });
    expect(faulty(answer).sort()).toEqual([...mistakes].sort());
  });

  test('says that a body is required', async () => {
    const answer = await buyer.call('POST', '/orders');
    expect(answer.error).toMatchObject({ status: 400, code: 'invalid_body' });
    expect(answer.error.message).toContain('"petId"');
  });
});
