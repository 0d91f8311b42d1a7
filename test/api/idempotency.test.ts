/** `Idempotency-Key`: what a POST answered is answered again, and nothing is done twice. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { startTestApp } from '../support/app.ts';
import type { Answer, CallOptions } from '../support/call.ts';
import { expectReplay, freshKey, isReplayed, said, under } from '../support/idempotency.ts';
import { type Buyer, buyerOf, type ShownOrder } from '../support/orders.ts';
import { newPet } from '../support/pets.ts';
import { testTimeoutMs } from '../support/wait.ts';

setDefaultTimeout(testTimeoutMs);

const app = await startTestApp();
const buyer = await buyerOf(app);
afterAll(() => app[Symbol.asyncDispose]());

const ordersOf = async (of: Buyer, petId: bigint) =>
  (await of.call('GET', `/orders?petId=${petId}`)).json as ShownOrder[];

/** How many animals there are. */
const petsIn = async (of: Buyer) => {
  const { available, pending, sold } = (await of.call('GET', '/inventory')).json as Record<string, bigint>;
  return (available ?? 0n) + (pending ?? 0n) + (sold ?? 0n);
};

describe('a replay', () => {
  test('has the status, body, Location and ETag of the first answer, and nothing is done twice', async () => {
    const petId = await buyer.addPet();
    const key = freshKey();
    const first = await buyer.place(petId, under(key));
    expect(first.status).toBe(201);
    for (let time = 0; time < 3; time++) expectReplay(await buyer.place(petId, under(key)), first);
    expect(await ordersOf(buyer, petId)).toHaveLength(1);
  });

  test('of an added animal is that animal', async () => {
    const before = await petsIn(buyer);
    const key = freshKey();
    const first = await buyer.call('POST', '/pets', under(key, { body: newPet('Once') }));
    expect(first.header('Location')).toMatch(/^\/v1\/pets\/\d+$/);
    expectReplay(await buyer.call('POST', '/pets', under(key, { body: newPet('Once') })), first);
    expect((await petsIn(buyer)) - before).toBe(1n);
  });

  test.each(['approve', 'cancel'] as const)('of the step %s is the order as it was then', async (step) => {
    const { id } = await buyer.order();
    const key = freshKey();
    const first = await buyer.step(id, step, under(key));
    expectReplay(await buyer.step(id, step, under(key)), first);
    expect((await buyer.step(id, step)).error.code).toBe('order_transition_not_allowed');
  });

  test('answers as at first though the order went on since and the animal is gone', async () => {
    const petId = await buyer.addPet();
    const key = freshKey();
    const first = await buyer.place(petId, under(key));
    const { id } = first.json as ShownOrder;
    for (const step of ['approve', 'deliver'] as const) await buyer.step(id, step);
    expect((await buyer.call('DELETE', `/pets/${petId}`)).status).toBe(204);
    expectReplay(await buyer.place(petId, under(key)), first);
    expect(await buyer.shown(id)).toMatchObject({ status: 'delivered' });
  });

  test('of a step does not ask for its If-Match again, which does not hold any more', async () => {
    const { id } = await buyer.order();
    const etag = (await buyer.call('GET', `/orders/${id}`)).header('ETag');
    const options = under(freshKey(), { headers: { 'If-Match': etag } });
    const first = await buyer.step(id, 'approve', options);
    expect(first.status).toBe(200);
    expectReplay(await buyer.step(id, 'approve', options), first);
  });

  test('has a request id and limits of its own, and costs a request', async () => {
    const own = await buyerOf(app);
    const key = freshKey();
    const first = await own.call('POST', '/pets', under(key, { body: newPet() }));
    const again = await own.call('POST', '/pets', under(key, { body: newPet() }));
    expect(again.header('X-Request-Id')).not.toBe(first.header('X-Request-Id'));
    expect(again.number('X-RateLimit-Remaining')).toBe(first.number('X-RateLimit-Remaining') - 1);
  });

  test('is for another key of the same account as well: its owner may rotate the key in between', async () => {
    const key = freshKey();
    const body = newPet('Rotated');
    const first = await buyer.call('POST', '/pets', under(key, { body }));
    const { key: other } = await app.operator.keys.rotate(buyer.keyId, 86_400_000);
    expectReplay(await app.call('POST', '/pets', under(key, { body, key: other })), first);
  });

  test('is for nobody whose key may not do it', async () => {
    const key = freshKey();
    const { id } = await buyer.order();
    await buyer.step(id, 'approve', under(key));
    const reader = await app.operator.keys.create(buyer.account.id, 'reader', undefined, ['orders:read']);
    const answer = await buyer.step(id, 'approve', under(key, { key: reader.key }));
    expect(answer.error.code).toBe('insufficient_scope');
  });
});

describe('many at once with one key', () => {
  test('are done once, and all get the same answer', async () => {
    for (let round = 0; round < 5; round++) {
      const petId = await buyer.addPet();
      const key = freshKey();
      const answers = await Promise.all(Array.from({ length: 10 }, () => buyer.place(petId, under(key))));
      const firsts = answers.filter((answer) => isReplayed(answer) === null);
      expect(firsts).toHaveLength(1);
      for (const answer of answers) expect(said(answer)).toEqual(said(firsts[0] as Answer));
      expect(await ordersOf(buyer, petId)).toHaveLength(1);
    }
  });

  test('but with two bodies: one is done, the other is told that the key is used', async () => {
    const key = freshKey();
    const before = await petsIn(buyer);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        buyer.call('POST', '/pets', under(key, { body: newPet(`Twin ${at % 2}`) })),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([
      ...Array<number>(5).fill(201),
      ...Array<number>(5).fill(422),
    ]);
    expect((await petsIn(buyer)) - before).toBe(1n);
  });
});

describe('422 idempotency_key_reused', () => {
  test('for another body, another path, another query form, another step', async () => {
    const { id } = await buyer.order();
    const key = freshKey();
    expect((await buyer.step(id, 'approve', under(key))).status).toBe(200);
    const others: [string, CallOptions][] = [
      [`/orders/${id}/approve`, { body: '{}' }],
      [`/orders/${id}/deliver`, {}],
      [`/orders/${id + 1n}/approve`, {}],
      ['/pets', { body: newPet() }],
    ];
    for (const [target, options] of others) {
      const answer = await buyer.call('POST', target, under(key, options));
      expect(answer.error).toMatchObject({ status: 422, code: 'idempotency_key_reused' });
      expect(isReplayed(answer)).toBeNull();
    }
    expect(await buyer.shown(id)).toMatchObject({ status: 'approved' });
  });

  test('for a body of the same meaning in other bytes', async () => {
    const petId = await buyer.addPet();
    const key = freshKey();
    await buyer.place(petId, under(key));
    for (const body of [`{"petId": ${petId}}`, `{"petId":${petId}.0}`, `{"petId":${petId}} `]) {
      expect((await buyer.place(petId, under(key, { body }))).error.code).toBe('idempotency_key_reused');
    }
  });

  test('never before what is checked earlier: a request that is wrong is told so', async () => {
    const key = freshKey();
    await buyer.call('POST', '/pets', under(key, { body: newPet() }));
    expect((await buyer.call('POST', '/pets', under(key, { body: '{' }))).error.code).toBe('invalid_json');
    expect((await buyer.call('POST', '/orders/x/approve', under(key))).error.code).toBe('order_not_found');
  });

  test('leaves the first answer as it is', async () => {
    const key = freshKey();
    const first = await buyer.call('POST', '/pets', under(key, { body: newPet('First') }));
    await buyer.call('POST', '/pets', under(key, { body: newPet('Second') }));
    expectReplay(await buyer.call('POST', '/pets', under(key, { body: newPet('First') })), first);
  });
});

describe('a key', () => {
  test('of another account is another key', async () => {
    const other = await buyerOf(app);
    const key = freshKey();
    const answers = [
      await buyer.call('POST', '/pets', under(key, { body: newPet() })),
      await other.call('POST', '/pets', under(key, { body: newPet() })),
      await other.call('POST', '/pets', under(key, { body: newPet() })),
    ];
    expect(answers.map(isReplayed)).toEqual([null, null, 'true']);
    expect(answers[1]?.text).not.toBe(answers[0]?.text ?? '');
    const third = await buyerOf(app);
    expect((await third.call('POST', '/pets', under(key, { body: newPet('x') }))).status).toBe(201);
  });

  test('of an account whose number begins with that of another is not taken for its key', async () => {
    await using fresh = await startTestApp();
    const buyers: Buyer[] = [];
    for (let made = 0; made < 40; made++) buyers.push(await buyerOf(fresh));
    const pair = buyers.filter(({ account }) => account.id === 3 || account.id === 30);
    expect(pair).toHaveLength(2);
    for (const { call } of pair) {
      for (const key of ['0', '00', ':0', '0:0', '3:0', '30:0']) {
        expect(isReplayed(await call('POST', '/pets', under(key, { body: newPet() })))).toBeNull();
      }
    }
  });

  test('quoted and bare are the same, in any other case another', async () => {
    const body = newPet('Quoted');
    const answers: Answer[] = [];
    for (const key of ['Same-Key', '"Same-Key"', 'same-key']) {
      answers.push(await buyer.call('POST', '/pets', under(key, { body })));
    }
    expect(answers.map(isReplayed)).toEqual([null, 'true', null]);
  });

  test.each([..."'%;=/:,.*#&?<>{}[]@!$^~`|+-_"])('may have the character %s', async (character) => {
    const key = `${character}${freshKey()}${character}`;
    const answers = [1, 2].map(() => buyer.call('POST', '/pets', under(key, { body: newPet() })));
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([201, 201]);
  });

  test('is used up by a success only: after a refusal it is free, also for another request', async () => {
    const petId = await buyer.addPet('sold');
    const key = freshKey();
    for (let time = 0; time < 2; time++) {
      const refused = await buyer.place(petId, under(key));
      expect(refused.error.code).toBe('pet_not_available');
      expect(isReplayed(refused)).toBeNull();
    }
    await buyer.call('PATCH', `/pets/${petId}`, { body: '{"status":"available"}' });
    expect((await buyer.step(999_999n, 'approve', under(key))).status).toBe(404);
    const placed = await buyer.place(petId, under(key));
    expect([placed.status, isReplayed(placed)]).toEqual([201, null]);
  });

  test('is not looked at by GET, PATCH, PUT and DELETE, malformed or not', async () => {
    for (const key of ['two words', '', freshKey()]) {
      const petId = await buyer.addPet();
      for (const name of ['One', 'Two']) {
        const body = `{"name":"${name}"}`;
        const changed = await buyer.call('PATCH', `/pets/${petId}`, under(key, { body }));
        expect([changed.status, isReplayed(changed)]).toEqual([200, null]);
        expect(changed.json).toMatchObject({ name });
        const named = await buyer.call('PUT', '/categories/1', under(key, { body }));
        expect([named.status < 300, isReplayed(named)]).toEqual([true, null]);
      }
      expect(isReplayed(await buyer.call('GET', '/orders', under(key)))).toBeNull();
      const removed = [1, 2].map(() => buyer.call('DELETE', `/pets/${petId}`, under(key)));
      expect((await Promise.all(removed)).map(({ status }) => status).sort()).toEqual([204, 404]);
    }
  });
});
