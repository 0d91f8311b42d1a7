/** `Idempotency-Key`: a repeated POST returns the original response and is not applied again. */
import { describe, expect, test } from 'bun:test';
import { startAppForFile } from '../support/app.ts';
import { expectReplay, freshKey, isReplayed, under } from '../support/idempotency.ts';
import { buyerOf, type ShownOrder } from '../support/orders.ts';
import { newPet } from '../support/pets.ts';

const app = await startAppForFile();
const buyer = await buyerOf(app);

describe('a replayed response', () => {
  test('is the original response, even after the order has been delivered and its animal deleted', async () => {
    const petId = await buyer.addPet();
    const key = freshKey();
    const first = await buyer.place(petId, under(key));
    const { id } = first.json as ShownOrder;
    for (const step of ['approve', 'deliver'] as const) await buyer.step(id, step);
    expect((await buyer.call('DELETE', `/pets/${petId}`)).status).toBe(204);
    expectReplay(await buyer.place(petId, under(key)), first);
    expect(await buyer.shown(id)).toMatchObject({ status: 'delivered' });
  });

  test("to a transition is returned even if the request's If-Match is outdated", async () => {
    const { id } = await buyer.order();
    const etag = (await buyer.call('GET', `/orders/${id}`)).header('ETag');
    const options = under(freshKey(), { headers: { 'If-Match': etag } });
    const first = await buyer.step(id, 'approve', options);
    expect(first.status).toBe(200);
    expectReplay(await buyer.step(id, 'approve', options), first);
  });

  test('has a new request id and counts as a request', async () => {
    const own = await buyerOf(app);
    const key = freshKey();
    const first = await own.call('POST', '/pets', under(key, { body: newPet() }));
    const again = await own.call('POST', '/pets', under(key, { body: newPet() }));
    expect(again.header('X-Request-Id')).not.toBe(first.header('X-Request-Id'));
    expect(again.number('X-RateLimit-Remaining')).toBe(first.number('X-RateLimit-Remaining') - 1);
  });

  test('is also returned for another key of the same account, for example after a rotation', async () => {
    const key = freshKey();
    const body = newPet('Rotated');
    const first = await buyer.call('POST', '/pets', under(key, { body }));
    const { key: other } = await app.operator.keys.rotate(buyer.keyId, 86_400_000);
    expectReplay(await app.call('POST', '/pets', under(key, { body, key: other })), first);
  });

  test('is not returned for a key without the scope of the operation', async () => {
    const key = freshKey();
    const { id } = await buyer.order();
    await buyer.step(id, 'approve', under(key));
    const reader = await app.operator.keys.create(buyer.account.id, 'reader', undefined, ['orders:read']);
    const answer = await buyer.step(id, 'approve', under(key, { key: reader.key }));
    expect(answer.error.code).toBe('insufficient_scope');
  });
});

describe('422 idempotency_key_reused', () => {
  test('is returned for an equivalent body whose bytes differ', async () => {
    const petId = await buyer.addPet();
    const key = freshKey();
    await buyer.place(petId, under(key));
    for (const body of [`{"petId": ${petId}}`, `{"petId":${petId}.0}`, `{"petId":${petId}} `]) {
      expect((await buyer.place(petId, under(key, { body }))).error.code).toBe('idempotency_key_reused');
    }
  });
});

describe('an Idempotency-Key', () => {
  test('may contain any visible ASCII character, and is case-sensitive', async () => {
    const characters = `Aa${"'%;=/:,.*#&?<>{}[]@!$^~`|+-_"}`;
    const send = (key: string) => buyer.call('POST', '/pets', under(key, { body: newPet() }));
    const answers = [await send(characters), await send(characters), await send(characters.toUpperCase())];
    expect(answers.map(isReplayed)).toEqual([null, 'true', null]);
  });

  test('is ignored by GET, PATCH, PUT and DELETE, even if it is malformed', async () => {
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
