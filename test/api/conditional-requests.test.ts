/**
 * `ETag` and `If-None-Match` (RFC 9110, section 13): pages, restarts and precedence. The rules for
 * each operation are in every-conditional-operation.test.ts.
 */
import { describe, expect, test } from 'bun:test';
import { computeEtag } from '../../src/contract/caching.ts';
import { startAppForFile, startTestApp } from '../support/app.ts';
import { type Buyer, buyerOf } from '../support/orders.ts';
import { addPets, newPet } from '../support/pets.ts';

const app = await startAppForFile();
const buyer = await buyerOf(app);

const read = (target: string, held?: string, of: Buyer = buyer, method = 'GET') =>
  of.call(method, target, held === undefined ? {} : { headers: { 'If-None-Match': held } });

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

/** Animals with the same xxHash64, which a client that chooses the name finds in milliseconds. */
const colliding = [
  'A'.repeat(104),
  `RENAMED AAAAAAAbYIa8j9YdCFNrPkiMStwAF-UXkM0A2BQ-eVF]B (-Uka-_-i_Z:*ALF-wVd0MpK:${'A'.repeat(25)}`,
].map((name) => JSON.stringify({ id: 10, name, categoryId: 5, status: 'available' }));

describe('an ETag', () => {
  test('cannot be kept by choosing the name of a changed animal', () => {
    expect(new Set(colliding.map((body) => Bun.hash.xxHash64(body))).size).toBe(1);
    expect(new Set(colliding.map(computeEtag)).size).toBe(2);
  });

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
