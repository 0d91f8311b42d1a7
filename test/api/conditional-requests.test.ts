/**
 * `ETag`, `If-Match` and `If-None-Match` (RFC 9110, section 13): pages and filters, races and precedence. The rules for
 * each operation are in every-conditional-operation.test.ts.
 */
import { describe, expect, test } from 'bun:test';
import { startAppForFile, startTestApp } from '../support/app.ts';
import { type Buyer, buyerOf, stepsTo } from '../support/orders.ts';
import { addPets, newPet } from '../support/pets.ts';

const app = await startAppForFile();
const buyer = await buyerOf(app);

const read = (target: string, held?: string, of: Buyer = buyer, method = 'GET') =>
  of.call(method, target, held === undefined ? {} : { headers: { 'If-None-Match': held } });

const etagAt = async (target: string) => (await read(target)).header('ETag');

/** Sends a change with an `If-Match` header. */
const when = (method: string, target: string, ifMatch: string, body?: string) =>
  buyer.call(method, target, { headers: { 'If-Match': ifMatch }, ...(body !== undefined && { body }) });

await addPets(app, 3);
await buyer.call('PUT', '/categories/7', { body: '{"name":"Dogs"}' });

describe('304', () => {
  test('never replaces an error', async () => {
    expect((await read('/orders/999999', '*')).status).toBe(404);
    expect((await read('/orders?limit=0', '*')).status).toBe(400);
  });

  test('is never returned for POST, or in place of a response without an ETag', async () => {
    const headers = { 'If-None-Match': '*' };
    expect((await buyer.call('POST', '/pets', { body: newPet(), headers })).status).toBe(201);
    const limits = await read('/rate-limit', '*');
    expect([limits.status, limits.headers.has('ETag')]).toEqual([200, false]);
  });
});

describe('an ETag', () => {
  test('is the same for HEAD, for a cached page, and after a restart', async () => {
    await using fresh = await startTestApp();
    const own = await buyerOf(fresh);
    await own.order();
    for (const target of ['/orders', '/orders/1', '/pets', '/inventory']) {
      const first = await read(target, undefined, own);
      const others = [await read(target, undefined, own), await read(target, undefined, own, 'HEAD')];
      await fresh.restart();
      others.push(await read(target, undefined, own));
      for (const answer of others) expect(answer.header('ETag')).toBe(first.header('ETag'));
    }
  });
});

/** For each operation with `If-Match`: creates a resource, and returns its target and a request that changes it. */
const changes: Record<string, () => Promise<{ at: string; method: string; target: string; body?: string }>> =
  {
    updatePet: async () => {
      const at = `/pets/${await buyer.addPet()}`;
      return { at, method: 'PATCH', target: at, body: '{"name":"Changed"}' };
    },
    deletePet: async () => {
      const at = `/pets/${await buyer.addPet()}`;
      return { at, method: 'DELETE', target: at };
    },
    putCategory: async () => ({
      at: '/categories/7',
      method: 'PUT',
      target: '/categories/7',
      body: `{"name":"${Math.floor(app.clock.now())}"}`,
    }),
    deleteCategory: async () => {
      await buyer.call('PUT', '/categories/9', { body: '{"name":"Short-lived"}' });
      return { at: '/categories/9', method: 'DELETE', target: '/categories/9' };
    },
    ...Object.fromEntries(
      Object.entries({
        approve: 'placed',
        deliver: 'approved',
        cancel: 'placed',
        return: 'delivered',
      } as const).map(([step, status]) => [
        `${step}Order`,
        async () => {
          const { id } = await buyer.order(...stepsTo[status]);
          return { at: `/orders/${id}`, method: 'POST', target: `/orders/${id}/${step}` };
        },
      ]),
    ),
  };

describe.each(Object.entries(changes))('If-Match on %s', (_, make) => {
  test('lets only one of many concurrent changes succeed', async () => {
    app.clock.advance(1);
    const { at, method, target, body } = await make();
    const etag = await etagAt(at);
    const answers = await Promise.all(Array.from({ length: 6 }, () => when(method, target, etag, body)));
    const losing = method === 'DELETE' ? 404 : 412;
    const statuses = answers.map(({ status }) => (status < 300 ? 'won' : status)).sort();
    expect(statuses).toEqual([...Array<number>(5).fill(losing), 'won']);
  });
});
