/**
 * `ETag`, `If-Match` and `If-None-Match` (RFC 9110, section 13): pages and filters, races, and what comes first. What
 * holds for each operation by itself is in every-conditional-operation.test.ts.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import { startTestApp } from '../support/app.ts';
import type { Answer } from '../support/call.ts';
import { type Buyer, buyerOf, orderSteps, stepsTo } from '../support/orders.ts';
import { addPets, linksOf, newPet } from '../support/pets.ts';

const app = await startTestApp();
const buyer = await buyerOf(app);
afterAll(() => app[Symbol.asyncDispose]());

const read = (target: string, held?: string, of: Buyer = buyer, method = 'GET') =>
  of.call(method, target, held === undefined ? {} : { headers: { 'If-None-Match': held } });

const etagAt = async (target: string) => (await read(target)).header('ETag');

/** A change that depends on a condition. */
const when = (method: string, target: string, ifMatch: string, body?: string) =>
  buyer.call(method, target, { headers: { 'If-Match': ifMatch }, ...(body !== undefined && { body }) });

/** The header fields of an answer that do not tell one request from the next. */
const lasting = ({ headers }: Answer) =>
  Object.fromEntries(
    [...headers].filter(
      ([name]) => !/^(?:date|x-request-id|x-ratelimit-.*|ratelimit|content-type|content-length)$/.test(name),
    ),
  );

await addPets(app, 3);
const order = await buyer.order();
await buyer.call('PUT', '/categories/7', { body: '{"name":"Dogs"}' });

const readable = [
  '/pets?status=available&limit=2',
  '/pets?id=999999',
  '/inventory?categoryId=1',
  `/orders?petId=${order.petId}`,
  `/orders/${order.id}`,
];

describe('304', () => {
  test.each(readable)('has the same headers as 200, and only for the current tag: %s', async (target) => {
    const first = await read(target);
    const etag = first.header('ETag');
    expect(etag).toMatch(/^"[0-9a-z]+"$/);
    for (const method of ['GET', 'HEAD']) {
      const again = await read(target, etag, buyer, method);
      expect([again.status, again.text, lasting(again)]).toEqual([304, '', lasting(first)]);
    }
    for (const held of [etag.replaceAll('"', ''), `${etag.slice(0, -1)}x"`, '', '"*"']) {
      const answer = await read(target, held);
      expect([answer.status, answer.header('ETag')]).toEqual([200, etag]);
    }
  });

  test('has the links of a page, and counts as a request', async () => {
    const own = await buyerOf(app);
    const first = await read('/pets?limit=1', undefined, own);
    const again = await read('/pets?limit=1', first.header('ETag'), own);
    expect(linksOf(again)).toEqual(linksOf(first));
    expect(again.number('X-RateLimit-Remaining')).toBe(first.number('X-RateLimit-Remaining') - 1);
  });

  test('never replaces an error', async () => {
    expect((await read('/orders/999999', '*')).status).toBe(404);
    expect((await read('/orders?limit=0', '*')).status).toBe(400);
  });

  test('is not the answer to POST, nor to an operation without a representation of a resource', async () => {
    const headers = { 'If-None-Match': '*' };
    expect((await buyer.call('POST', '/pets', { body: newPet(), headers })).status).toBe(201);
    const limits = await read('/rate-limit', '*');
    expect([limits.status, limits.headers.has('ETag')]).toEqual([200, false]);
  });
});

describe('an ETag', () => {
  test('is the same for HEAD, for a cached page and after a restart', async () => {
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

  test('changes when the body changes and only then, over a life of an order', async () => {
    const { id, petId } = await buyer.order();
    const targets = [
      `/orders/${id}`,
      `/orders?petId=${petId}`,
      `/pets?id=${petId}`,
      '/inventory',
      '/categories',
    ];
    const bodies = new Map<string, string>();
    const look = async () => {
      for (const target of targets) {
        const { text, ...answer } = await read(target);
        const known = bodies.get(`${target} ${text}`);
        const etag = answer.headers.get('ETag') ?? '';
        if (known !== undefined) expect(etag).toBe(known);
        bodies.set(`${target} ${text}`, etag);
      }
    };
    for (const step of orderSteps) {
      await look();
      await buyer.step(id, step);
      await look();
      await buyer.step(id, step);
      app.clock.advance(1);
    }
    const seen = [...bodies.keys()].map((body) => body.slice(body.indexOf(' ')));
    expect(new Set(bodies.values()).size).toBe(new Set(seen).size);
  });

  test('tells bodies apart that differ in their last character only', async () => {
    const petId = await buyer.addPet();
    const tags = new Set<string>();
    const name = '🐈'.repeat(254);
    for (const end of ['a', 'b', 'A', '🐈']) {
      await buyer.call('PATCH', `/pets/${petId}`, { body: JSON.stringify({ name: name + end }) });
      for (const target of [`/pets/${petId}`, `/pets?id=1,2,${petId}`]) tags.add(await etagAt(target));
    }
    await buyer.call('PATCH', `/pets/${petId}`, { body: '{"status":"pending"}' });
    tags.add(await etagAt(`/pets/${petId}`));
    expect(tags.size).toBe(9);
  });

  test('is the same again when the content is', async () => {
    const created = await buyer.call('POST', '/pets', { body: newPet('Tagged') });
    const at = created.header('Location').replace('/v1', '');
    await buyer.call('PATCH', at, { body: '{"name":"Renamed"}' });
    const back = await buyer.call('PATCH', at, { body: '{"name":"Tagged"}' });
    expect(back.header('ETag')).toBe(created.header('ETag'));
    const put = await buyer.call('PUT', '/categories/8', { body: '{"name":"Cats"}' });
    expect(await etagAt('/categories/8')).toBe(put.header('ETag'));
  });

  test('is on no error and no empty answer', async () => {
    const petId = await buyer.addPet();
    const answers = [
      await read('/orders/999999'),
      await buyer.step(order.id, 'return'),
      await buyer.call('DELETE', `/pets/${petId}`),
    ];
    for (const { headers } of answers) expect(headers.has('ETag')).toBe(false);
  });
});

/** Each operation with `If-Match`: a resource of its own, how it is read, and a change of it. */
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
  test('one of many concurrent changes with the same tag succeeds', async () => {
    app.clock.advance(1);
    const { at, method, target, body } = await make();
    const etag = await etagAt(at);
    const answers = await Promise.all(Array.from({ length: 6 }, () => when(method, target, etag, body)));
    const losing = method === 'DELETE' ? 404 : 412;
    const statuses = answers.map(({ status }) => (status < 300 ? 'won' : status)).sort();
    expect(statuses).toEqual([...Array<number>(5).fill(losing), 'won']);
  });
});
