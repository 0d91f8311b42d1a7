import { describe, expect, test } from 'bun:test';
import packageJson from '../../client/package.json' with { type: 'json' };
import {
  AnimalStore,
  AnimalStoreError,
  ArgumentError,
  AuthenticationError,
  type NewPet,
  PermissionError,
  RemovedError,
} from '../../client/src/index.ts';
import { startAppForFile, startTestApp } from '../support/app.ts';
import { rejectionOf } from '../support/rejection.ts';

const app = await startAppForFile();
const store = new AnimalStore({ key: app.key, url: app.url });
const ozzy: NewPet = { name: 'Ozzy', categoryId: 7 };

describe('a call', () => {
  test('sends and returns exact 64-bit integers', async () => {
    for (const categoryId of [2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n]) {
      const pet = await store.pets.create({ name: '"categoryId":1', categoryId });
      expect(pet).toEqual({ id: pet.id, name: '"categoryId":1', categoryId, status: 'available' });
      expect(await store.pets.list({ categoryId }).toArray()).toContainEqual(pet);
      expect(await store.categories.put(categoryId, { name: 'Dogs' })).toEqual({
        id: categoryId,
        name: 'Dogs',
      });
      expect(await store.categories.get(categoryId)).toEqual({ id: categoryId, name: 'Dogs' });
      expect(await store.inventory.get({ categoryId })).toMatchObject({ pending: 0 });
    }
  });

  test('returns the full response, including the remaining quota, with withResponse()', async () => {
    const { key } = await app.tenant('free');
    const answer = await new AnimalStore({ key, url: app.url }).pets.create(ozzy).withResponse();
    expect(answer).toMatchObject({ data: { name: 'Ozzy' }, status: 201 });
    expect(answer.requestId).toBe(answer.headers.get('x-request-id') ?? '');
    expect(answer.etag).toBe(answer.headers.get('etag') ?? '');
    expect(answer.rateLimit).toEqual({
      minute: { limit: 60, remaining: 59, resetSeconds: 60 },
      day: { limit: 1_000, remaining: 999, resetSeconds: 86_400 },
    });
  });

  test('changes a resource only if its ETag matches', async () => {
    const { data, etag } = await store.pets.create(ozzy).withResponse();
    await store.pets.update(data.id, { name: 'Anna' }, { ifMatch: etag });
    const code = { code: 'precondition_failed', status: 412 };
    expect(await rejectionOf(store.pets.update(data.id, { name: 'Ben' }, { ifMatch: etag }))).toMatchObject(
      code,
    );
    expect(await rejectionOf(store.pets.delete(data.id, { ifMatch: etag }))).toMatchObject(code);
    await store.categories.put(8, { name: 'Cats' }, { ifNoneMatch: '*' });
    expect(await rejectionOf(store.categories.put(8, { name: 'Cats' }, { ifNoneMatch: '*' }))).toMatchObject(
      code,
    );
    expect(await store.pets.delete(data.id)).toBeUndefined();
  });

  test('is applied once if it is repeated with the same idempotency key, and every time without one', async () => {
    const create = (idempotencyKey?: string) => store.pets.create(ozzy, { idempotencyKey }).withResponse();
    const [first, again] = [await create('cart-7'), await create('cart-7')];
    expect(again.data).toEqual(first.data);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect((await create()).data.id).not.toBe((await create()).data.id);
  });

  test('rejects with all validation errors of a request', async () => {
    const error = await rejectionOf(store.pets.create({ name: '', categoryId: 1, status: 'old' as 'sold' }));
    expect(error).toMatchObject({
      code: 'invalid_body',
      status: 400,
      details: [
        { in: 'body', name: 'name' },
        { in: 'body', name: 'status' },
      ],
    });
    expect(String(error)).toContain('name must not be empty');
  });

  test('rejects with an error that has the fields of its class', async () => {
    const reader = await app.operator.keys.create((await app.tenant('pro')).account.id, 'reader', undefined, [
      'pets:read',
    ]);
    const denied = await rejectionOf(new AnimalStore({ key: reader.key, url: app.url }).pets.delete(1));
    expect(denied).toBeInstanceOf(PermissionError);
    expect(denied).toMatchObject({ code: 'insufficient_scope', scope: 'pets:write' });
    const stranger = await rejectionOf(new AnimalStore({ key: 'ask_none', url: app.url }).pets.delete(1));
    expect(stranger).toBeInstanceOf(AuthenticationError);
    expect(stranger).toBeInstanceOf(AnimalStoreError);
  });

  test('to a removed operation rejects with an error that includes the replacement', async () => {
    await using later = await startTestApp();
    later.clock.set('2030-12-05T00:00:00Z');
    const error = await rejectionOf(new AnimalStore({ key: later.key, url: later.url }).pets.get(1));
    expect(error).toBeInstanceOf(RemovedError);
    expect(error).toMatchObject({ code: 'operation_removed', successor: '/v1/pets' });
  });

  test('rejects with an error whose stack trace includes the calling code', async () => {
    async function theCaller() {
      return await store.orders.get(404);
    }
    expect(((await rejectionOf(theCaller())) as Error).stack).toContain('theCaller');
  });

  test('rejects with an ArgumentError if one of its ids is not an integer', async () => {
    const text = 'x' as unknown as bigint;
    for (const call of [store.webhooks.redeliver(1n, text), store.webhooks.redeliver(text, 1n)])
      expect(await rejectionOf(call)).toBeInstanceOf(ArgumentError);
  });

  test('causes no unhandled rejection if its full response is awaited', async () => {
    const rejected: unknown[] = [];
    const count = (error: unknown) => rejected.push(error);
    process.on('unhandledRejection', count);
    await rejectionOf(store.orders.get(404).withResponse());
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', count);
    expect(rejected).toEqual([]);
  });
});

describe('a client option', () => {
  test('url can end in /v1 or not, and can include a path', async () => {
    for (const url of [app.url, `${app.url}/`, `${app.url}/v1`, new URL(`${app.url}/v1/`)]) {
      expect(await new AnimalStore({ key: app.key, url }).rateLimit.get()).toMatchObject({
        plan: 'enterprise',
      });
    }
    const urls: string[] = [];
    const proxied = new AnimalStore({
      key: app.key,
      url: 'https://example.com/animals/v1',
      fetch: (url, init) => {
        urls.push(url);
        return fetch(url.replace('https://example.com/animals', app.url), init);
      },
    });
    await proxied.rateLimit.get();
    expect(urls).toEqual(['https://example.com/animals/v1/rate-limit']);
  });

  test('is rejected immediately if invalid, and the message does not contain the key', () => {
    const wrong = [
      { url: undefined },
      { url: '127.0.0.1:3000' },
      { url: 'ftp://example.com' },
      { url: 'https://me:secret@example.com' },
      { key: undefined },
      { key: '' },
      { key: 'ask_secret\n' },
      { maxWaitSeconds: -1 },
      { timeoutMs: Number.NaN },
      { timeoutMs: 0 },
      { url: 'http://127.0.0.1/?key=secret' },
      { maxRetries: -1 },
      { headers: { 'x-tenant': 'a\nb' } },
    ];
    for (const options of wrong) {
      const make = () => new AnimalStore({ key: app.key, url: app.url, ...options });
      expect(make).toThrow(ArgumentError);
      expect(make).not.toThrow(/secret/);
    }
  });

  test('causes an ArgumentError if the options object is missing or null', () => {
    const make = AnimalStore as unknown as new (options?: unknown) => unknown;
    expect(() => new make()).toThrow(ArgumentError);
    expect(() => new make(null)).toThrow(ArgumentError);
  });

  test('can set headers for all requests or one request, but not headers that the client sets', async () => {
    const seen: Headers[] = [];
    const own = { authorization: 'Basic x', 'content-type': 'text/plain' };
    const store = new AnimalStore({
      key: app.key,
      url: app.url,
      headers: { 'X-Tenant': 'north', 'X-Team': 'a' },
      fetch: (url, init) => {
        seen.push(new Headers(init.headers));
        return fetch(url, init);
      },
    });
    const options = { headers: { ...own, 'X-Team': 'b' }, requestId: 'order-4711' };
    const { requestId } = await store.pets.create(ozzy, options).withResponse();
    expect(requestId).toBe('order-4711');
    expect(Object.fromEntries(seen[0] ?? [])).toMatchObject({
      authorization: `Bearer ${app.key}`,
      'content-type': 'application/json',
      'x-tenant': 'north',
      'x-team': 'b',
      'x-request-id': 'order-4711',
      'user-agent': `animal-store-client/${packageJson.version}`,
    });
  });

  test('is validated before a request is sent, and so are the arguments of a call', async () => {
    const sent: unknown[] = [];
    const quiet = new AnimalStore({ key: app.key, url: app.url, onRequest: (request) => sent.push(request) });
    const calls = [
      () => quiet.pets.create(ozzy, { idempotencyKey: 'a\nb' }),
      () => quiet.pets.update(1, {}, { ifMatch: 'ü€' }),
      () => quiet.pets.update(1.5, {}),
      () => quiet.orders.get(undefined as unknown as bigint),
      () => quiet.pets.delete('../orders' as unknown as bigint),
      () => quiet.orders.get(null as unknown as bigint),
      () => quiet.pets.create({ name: 'Ozzy', categoryId: 2 ** 60 }),
      () => quiet.pets.list({ ids: [0.1] }).toArray(),
      () => quiet.pets.delete(1, { timeoutMs: -1 }),
      () => quiet.pets.delete(1, { requestId: 'a\nb' }),
      () => quiet.pets.delete(1, { headers: { 'a b': 'c' } }),
    ];
    for (const call of calls) expect(await rejectionOf(call())).toBeInstanceOf(ArgumentError);
    expect(sent).toEqual([]);
  });
});

test('the API key is never printed, serialized or passed to hooks', async () => {
  const seen: unknown[] = [];
  const note = (what: unknown) => seen.push(what);
  const loud = new AnimalStore({
    key: app.key,
    url: app.url,
    onRequest: note,
    onResponse: note,
    onRetry: note,
  });
  seen.push(loud, loud.pets, loud.pets.list());
  seen.push(await loud.pets.create(ozzy).withResponse(), await rejectionOf(loud.orders.get(404)));
  const gone = new AnimalStore({ key: app.key, url: 'http://127.0.0.1:9', maxWaitSeconds: 0, onRetry: note });
  const failed = (await rejectionOf(gone.orders.get(404))) as Error;
  seen.push(failed, failed.cause, failed.stack);
  expect(seen.length).toBeGreaterThan(8);
  for (const each of seen) {
    const printed =
      Bun.inspect(each, { depth: 20, compact: false }) +
      JSON.stringify(each, (_, value) => (typeof value === 'bigint' ? `${value}` : value));
    expect(printed).not.toContain(app.key);
  }
});

test('hooks receive every attempt with its response', async () => {
  const seen: unknown[] = [];
  const loud = new AnimalStore({
    key: app.key,
    url: app.url,
    onRequest: ({ method, attempt }) => seen.push(`${method} ${attempt}`),
    onResponse: ({ status, url, requestId, durationMs }) =>
      seen.push([status, url, typeof requestId, typeof durationMs]),
  });
  await loud.inventory.get();
  expect(seen).toEqual(['GET 1', [200, `${app.url}/v1/inventory`, 'string', 'number']]);
});

test('with a key that has no read access, updates resolve with undefined', async () => {
  const { id } = await store.pets.create({ name: 'Unseen', categoryId: 1 });
  const { account } = await app.tenant('free');
  const { key } = await app.operator.keys.create(account.id, 'writer', undefined, [
    'pets:write',
    'orders:write',
  ]);
  const writer = new AnimalStore({ key, url: app.url });
  expect(await writer.pets.update(id, { name: 'Changed' })).toBeUndefined();
  const order = await writer.orders.place({ petId: id });
  expect(await writer.orders.approve(order.id)).toBeUndefined();
  expect(await store.orders.get(order.id)).toMatchObject({ status: 'approved' });
});
