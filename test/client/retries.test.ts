/** Broken connections between the client and the real service. */
import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { systemClock } from '../../client/src/clock.ts';
import {
  AnimalStore,
  type AnimalStoreOptions,
  type Call,
  ConnectionError,
  NotFoundError,
  ServerError,
  TimeoutError,
} from '../../client/src/index.ts';
import { startTestApp } from '../support/app.ts';
import { rejectionOf } from '../support/rejection.ts';
import { tcpProxy } from '../support/tcp-proxy.ts';

const app = await startTestApp();
const proxy = await tcpProxy(app.url);
afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  await app[Symbol.asyncDispose]();
});
beforeEach(() => proxy.heal());

/** A clock for retries without delay: with full jitter, a random number of 0 means no delay. */
const clock = { ...systemClock, random: () => 0 };

function clientOf(options: Partial<AnimalStoreOptions> = {}): AnimalStore {
  const all = { key: app.key, url: proxy.url, clock, ...options };
  return new AnimalStore(all);
}

const direct = new AnimalStore({ key: app.key, url: app.url });
const ozzy = { name: 'Ozzy', categoryId: 7n };

/** Makes a call whose request the service applies, but whose connection breaks before the response arrives. */
async function lost<Result>(call: (store: AnimalStore) => Call<Result>): Promise<Result> {
  const store = clientOf({ onRetry: () => void proxy.heal() });
  await store.rateLimit.get();
  proxy.hold('answers');
  const held = proxy.answerHeld();
  const result = call(store);
  result.catch(() => {});
  await held;
  await proxy.cut();
  return result;
}

describe('a request whose response is lost', () => {
  test('is applied once if it is a POST, and resolves with the original response', async () => {
    const category = 1001n;
    const pet = await lost((store) => store.pets.create({ name: 'Ozzy', categoryId: category }));
    expect(await direct.pets.list({ categoryId: category }).toArray()).toEqual([pet]);
    const order = await lost((store) => store.orders.place({ petId: pet.id }));
    expect(await direct.orders.list({ petId: pet.id }).toArray()).toEqual([order]);
    expect(await lost((store) => store.orders.approve(order.id))).toMatchObject({ status: 'approved' });
  });

  test('is retried for a GET or PUT', async () => {
    expect(await lost((store) => store.categories.put(1002, { name: 'Dogs' }))).toMatchObject({
      name: 'Dogs',
    });
    expect(await lost((store) => store.categories.get(1002))).toMatchObject({ name: 'Dogs' });
  });

  test('succeeds if it is a DELETE, even though the retry gets a 404', async () => {
    const pet = await direct.pets.create(ozzy);
    expect(await lost((store) => store.pets.delete(pet.id))).toBeUndefined();
    expect(await direct.pets.list({ ids: [pet.id] }).toArray()).toEqual([]);
    expect(await rejectionOf(direct.pets.delete(pet.id))).toBeInstanceOf(NotFoundError);
  });

  test('is retried for a PATCH with If-Match, but the retry fails because the animal has changed', async () => {
    const { data, etag } = await direct.pets.create(ozzy).withResponse();
    const change = lost((store) => store.pets.update(data.id, { name: 'Anna' }, { ifMatch: etag }));
    const error = await rejectionOf(change);
    expect(error).toMatchObject({ code: 'precondition_failed', attempts: 2, isOutcomeUnknown: true });
    expect(String(error)).toEndWith('The change may have been applied.');
    expect(await direct.pets.list({ ids: [data.id] }).toArray()).toMatchObject([{ name: 'Anna' }]);
  });
});

describe('if no response arrives', () => {
  test('a request is retried up to maxRetries times, and the error states the reason', async () => {
    const attempts: number[] = [];
    await proxy.cut();
    const store = clientOf({ onRequest: ({ attempt }) => attempts.push(attempt), maxRetries: 3 });
    const error = (await rejectionOf(store.inventory.get())) as ConnectionError;
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error.message).toStartWith(`GET ${new URL('/v1/inventory', proxy.url).href} got no response: `);
    expect(error.cause).toBeInstanceOf(Error);
    expect(attempts).toEqual([1, 2, 3, 4]);
    expect(await rejectionOf(clientOf({ maxWaitSeconds: 0 }).inventory.get())).toMatchObject({ attempts: 1 });
  });

  test('a request is retried after a timeout', async () => {
    const attempts: number[] = [];
    proxy.hold();
    const store = clientOf({
      onRequest: ({ attempt }) => attempts.push(attempt),
      timeoutMs: 60_000,
      maxRetries: 2,
    });
    const error = await rejectionOf(store.inventory.get({}, { timeoutMs: 20 }));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ code: 'timeout', attempts: 3 });
    expect(attempts).toEqual([1, 2, 3]);
  });

  test.each<[string, boolean, (store: AnimalStore) => Call<unknown>]>([
    ['a change', true, ({ pets }) => pets.create(ozzy)],
    ['a change without If-Match', true, ({ pets }) => pets.update(1, { name: 'Anna' })],
    ['a read', false, ({ pets }) => pets.find(1)],
    ['an empty patch', false, ({ pets }) => pets.update(1, {})],
  ])('a TimeoutError of %s: isOutcomeUnknown is %p', async (_, isOutcomeUnknown, call) => {
    proxy.hold();
    const error = (await rejectionOf(call(clientOf({ timeoutMs: 20, maxRetries: 0 })))) as TimeoutError;
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error.isOutcomeUnknown).toBe(isOutcomeUnknown);
    expect(error.message.endsWith('The change may have been applied.')).toBe(isOutcomeUnknown);
  });

  test('an aborted request rejects immediately with the abort reason', async () => {
    const ending = new AbortController();
    const reason = new Error('The page was closed.');
    const store = clientOf();
    await store.rateLimit.get();
    proxy.hold('answers');
    const held = proxy.answerHeld();
    const rejection = rejectionOf(store.inventory.get({}, { signal: ending.signal }));
    await held;
    ending.abort(reason);
    expect(await rejection).toBe(reason);
  });
});

/** A client behind a proxy that first sends these responses. */
function behind(...answers: Response[]) {
  const keys: (string | null)[] = [];
  const store = clientOf({
    maxRetries: answers.length,
    fetch: async (url, init) => {
      keys.push(new Headers(init.headers).get('idempotency-key'));
      return answers.shift() ?? fetch(url, init);
    },
  });
  return { store, keys };
}

const failure = (
  status: number,
  code: string,
  headers: Record<string, string> = {},
  message = 'It failed.',
) =>
  new Response(JSON.stringify({ code, message, status }), {
    status,
    headers: { 'content-type': 'application/json', ...headers },
  });

test('a call that is aborted at any time rejects with the abort reason', async () => {
  const reason = new Error('The page was closed.');
  const abortIn: Record<string, (ending: AbortController) => Partial<AnimalStoreOptions>> = {
    call: () => ({}),
    onRequest: (ending) => ({ onRequest: () => ending.abort(reason) }),
    onRetry: (ending) => ({ onRetry: () => ending.abort(reason) }),
  };
  for (const [moment, hooks] of Object.entries(abortIn)) {
    const ending = new AbortController();
    await proxy.cut();
    const store = clientOf({ ...hooks(ending), clock: systemClock } as Partial<AnimalStoreOptions>);
    const rejection = rejectionOf(store.inventory.get({}, { signal: ending.signal }));
    if (moment === 'call') ending.abort(reason);
    expect(await rejection).toBe(reason);
  }
});

test('one signal aborts any number of calls, in flight and waiting, with a single listener', async () => {
  const { signal, abort } = listenedTo(new AbortController());
  const store = clientOf({ fetch: (_, { signal }) => rejectedBy(signal as AbortSignal) });
  const rejections = Array.from({ length: 50 }, () => rejectionOf(store.inventory.get({}, { signal })));
  const reason = new Error('The program ends.');
  expect(abort(reason)).toBe(1);
  expect(new Set(await Promise.all(rejections))).toEqual(new Set([reason]));
});

/** A signal that counts its listeners. `abort` returns their number. */
function listenedTo(ending: AbortController) {
  const { signal } = ending;
  const listen = signal.addEventListener.bind(signal);
  let listeners = 0;
  signal.addEventListener = (...of: Parameters<typeof listen>) => {
    listeners++;
    listen(...of);
  };
  const abort = (reason: Error) => {
    ending.abort(reason);
    return listeners;
  };
  return { signal, abort };
}

/** Returns a promise that never resolves, and rejects when the signal is aborted. */
function rejectedBy(signal: AbortSignal): Promise<Response> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
}

test('a call without a response does not block other calls', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<Response>();
  const store = clientOf({
    fetch: (url, init) => (url.endsWith('/orders/1') ? held : fetch(url, init)),
  });
  const slow = rejectionOf(store.orders.get(1));
  expect(await store.inventory.get()).toHaveProperty('sold');
  release(failure(404, 'order_not_found'));
  expect(await slow).toBeInstanceOf(NotFoundError);
});

describe('a call', () => {
  test('is retried twice with the same idempotency key after a 500', async () => {
    const { store, keys } = behind(failure(500, 'internal_error'), failure(500, 'internal_error'));
    await store.pets.create(ozzy);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    const thrice = behind(...Array.from({ length: 3 }, () => failure(500, 'internal_error')));
    expect(await rejectionOf(thrice.store.pets.create(ozzy))).toMatchObject({
      code: 'internal_error',
      attempts: 3,
    });
  });

  test('does not retry a PATCH after a 500', async () => {
    const { store, keys } = behind(failure(500, 'internal_error'));
    expect(await rejectionOf(store.pets.update(1, { name: 'Anna' }))).toBeInstanceOf(ServerError);
    expect(keys).toHaveLength(1);
  });

  test.each([
    [404, 'pet_not_found', false],
    [409, 'pet_not_available', false],
    [404, 'unexpected_response', true],
    [401, 'invalid_api_key', true],
  ])('that gets a 502 and then a %i %s: isOutcomeUnknown is %p', async (status, code, isOutcomeUnknown) => {
    const last = code === 'unexpected_response' ? new Response('', { status }) : failure(status, code);
    const { store } = behind(new Response('', { status: 502 }), last);
    const error = await rejectionOf(store.orders.place({ petId: 1 }));
    expect(error).toMatchObject({ status, code, attempts: 2, isOutcomeUnknown });
  });

  test.each([201, 200, 403, 408])(
    'that a proxy answers with %i and HTML may have been applied',
    async (status) => {
      const { store } = behind(new Response('<html>', { status, headers: { 'content-type': 'text/html' } }));
      const error = await rejectionOf(store.orders.place({ petId: 1 }));
      expect(error).toMatchObject({ status, code: 'unexpected_response', isOutcomeUnknown: true });
    },
  );

  test('is retried after a delay if the error is idempotency_key_in_use', async () => {
    const { store, keys } = behind(failure(409, 'idempotency_key_in_use', { 'retry-after': '0' }));
    await store.pets.create(ozzy);
    expect(keys).toHaveLength(2);
  });

  test('is retried if the response is incomplete', async () => {
    const headers = { 'content-type': 'application/json' };
    const { store, keys } = behind(new Response('{"available":1,"pen', { headers }));
    expect(await store.inventory.get()).toHaveProperty('sold');
    expect(keys).toHaveLength(2);
  });

  test('rejects with unexpected_response if another server responds', async () => {
    const html = { headers: { 'content-type': 'text/html' } };
    const signIn = await rejectionOf(behind(new Response('<h1>Sign in</h1>', html)).store.inventory.get());
    expect(signIn).toMatchObject({ code: 'unexpected_response', status: 200, name: 'ServerError' });
    const missing = await rejectionOf(behind(new Response('', { status: 404 })).store.inventory.get());
    expect(missing).toMatchObject({ code: 'unexpected_response', status: 404, name: 'ServerError' });
    const gateway = await rejectionOf(
      behind(new Response('', { status: 502 }), new Response('', { status: 502 })).store.pets.update(1, {
        name: 'Anna',
      }),
    );
    expect(gateway).toMatchObject({ code: 'unexpected_response', status: 502, attempts: 1 });
    expect(String(gateway)).toContain('got a 502 from a proxy');
  });

  test('rejects if the JSON of the response has the wrong structure', async () => {
    const json = (text: string) =>
      behind(new Response(text, { headers: { 'content-type': 'Application/JSON; charset=utf-8' } })).store;
    const unexpected = { code: 'unexpected_response', status: 200, name: 'ServerError' };
    for (const text of ['null', '5', '[]'])
      expect(await rejectionOf(json(text).pets.create(ozzy))).toMatchObject(unexpected);
    for (const text of ['null', '{}'])
      expect(await rejectionOf(json(text).pets.list().toArray())).toMatchObject(unexpected);
    const nothing = behind(new Response(null, { status: 204 })).store;
    expect(await rejectionOf(nothing.pets.create(ozzy))).toMatchObject({ ...unexpected, status: 204 });
    expect(await json('[]').pets.list().toArray()).toEqual([]);
  });

  test('rejects with an error without details if the details of the response are malformed', async () => {
    const error = await rejectionOf(
      behind(
        Response.json({ code: 'invalid_body', message: 'no', status: 400, details: 'none' }, { status: 400 }),
      ).store.pets.create(ozzy),
    );
    expect(error).toMatchObject({ code: 'invalid_body', details: [] });
  });

  test('rejects if the response is a redirect, and the key is not sent to the target', async () => {
    const seen: string[] = [];
    const elsewhere = Bun.serve({ port: 0, fetch: ({ url }) => new Response(String(seen.push(url))) });
    const old = Bun.serve({ port: 0, fetch: () => Response.redirect(elsewhere.url.href, 308) });
    const error = await rejectionOf(clientOf({ url: old.url }).inventory.get());
    await Promise.all([elsewhere.stop(true), old.stop(true)]);
    expect(error).toMatchObject({ code: 'unexpected_response', status: 308 });
    expect(String(error)).toContain(`was redirected to ${elsewhere.url.href}`);
    expect(seen).toEqual([]);
  });
});
