/** Outages and restarts of the service in virtual time. `npm run stress -- --only once` tests real outages. */
import { describe, expect, test } from 'bun:test';
import {
  AnimalStore,
  type AnimalStoreError,
  type AnimalStoreOptions,
  ConnectionError,
  NotFoundError,
  ServerError,
  TimeoutError,
  type UnavailableError,
} from '../../client/src/index.ts';
import { isUncertain } from '../../client/src/retry.ts';
import { startAppForFile } from '../support/app.ts';
import { errorOf, type Failure, failed, failures, json, page } from '../support/client-failures.ts';
import { rejectionOf } from '../support/rejection.ts';
import { VirtualTime } from '../support/virtual-time.ts';

const app = await startAppForFile();

const direct = new AnimalStore({ key: app.key, url: app.url });

/** A client whose requests fail for this number of seconds after `begin` is called. */
function clientIn(failure: Failure, seconds: number, options: Partial<AnimalStoreOptions> = {}) {
  const time = new VirtualTime(app.clock);
  const sentAt: number[] = [];
  let beganAt = Number.POSITIVE_INFINITY;
  const store = time.client({
    key: app.key,
    url: app.url,
    fetch: async (url, init) => {
      const now = time.now();
      if (now >= beganAt) sentAt.push(now - beganAt);
      const isAway = now >= beganAt && now < beganAt + seconds * 1_000;
      return isAway ? failure(() => time.fetch(url, init)) : time.fetch(url, init);
    },
    ...options,
  });
  const begin = () => {
    beganAt = time.now();
  };
  return { time, store, sentAt, begin };
}

/** Like `clientIn`, but the client has reached the service once before the outage. */
async function reachedClient(failure: Failure, seconds: number, options?: Partial<AnimalStoreOptions>) {
  const client = clientIn(failure, seconds, options);
  await client.time.until(client.store.rateLimit.get());
  client.begin();
  return client;
}

/** Higher than the category ids of other tests. */
let nextCategory = 1_000n;

describe('a 10-second restart', () => {
  /** Uses 16 workers for the most difficult failure, and 4 for other failures to save time. */
  const counts = Object.entries(failures).map(
    ([name, failure]) => [name, name === 'lost responses' ? 16 : 4, failure] as const,
  );

  test.each(counts)(
    'with %s causes no failed calls in %i workers, and no duplicate changes',
    async (_, workers, failure) => {
      const { time, store } = await reachedClient(failure, 10);
      const categoryId = nextCategory++;
      const work = async (worker: number) => {
        const pet = await store.pets.create({ name: `worker ${worker}`, categoryId });
        const { id } = await store.orders.place({ petId: pet.id });
        await store.orders.cancel(id);
        await store.categories.put(categoryId, { name: 'Dogs' });
        return pet;
      };
      const pets = await time.until(
        Promise.all(Array.from({ length: workers }, (_, worker) => work(worker))),
      );
      const stored = await time.until(store.pets.list({ categoryId }).toArray());
      expect(stored).toEqual(pets.sort((a, b) => Number(a.id - b.id)));
      await time.until(Promise.all(stored.map(({ id }) => store.pets.delete(id))));
      expect(await time.until(store.pets.list({ categoryId }).toArray())).toEqual([]);
      expect(time.now()).toBeLessThan(60_000);
    },
  );
});

describe('a call during a permanent outage', () => {
  test.each(Object.entries(failures))(
    'with %s is retried with growing delays, and rejects after maxWaitSeconds',
    async (_, failure) => {
      const { time, store, sentAt } = await reachedClient(failure, 3_600);
      const from = time.now();
      const error = (await time.until(rejectionOf(store.inventory.get()))) as AnimalStoreError;
      expect(time.now() - from).toBeWithin(30_000, 61_000);
      expect(error.attempts).toBe(sentAt.length);
      expect(sentAt.length).toBeWithin(5, 40);
    },
  );

  test('rejects after 10 s if the client has never reached the service, with an error that suggests checking the URL', async () => {
    for (const failure of [failures['refused connections'], failures['unknown hosts']]) {
      const { time, store, begin } = clientIn(failure, 3_600);
      begin();
      const error = (await time.until(
        rejectionOf(store.pets.create({ name: 'Ozzy', categoryId: 1 })),
      )) as Error;
      expect(error).toBeInstanceOf(ConnectionError);
      expect(error.message).toContain('Check the url');
      expect(time.now()).toBeWithin(5_000, 10_100);
    }
  });

  test('rejects with an error without retryAfterSeconds if no server sent Retry-After', async () => {
    const { time, store } = await reachedClient(failures["a proxy's 503"], 3_600, { maxWaitSeconds: 1 });
    const calls = Array.from({ length: 64 }, async (_, index) => {
      await time.sleep(index * 20);
      return rejectionOf(store.inventory.get());
    });
    const errors = (await time.until(Promise.all(calls))) as UnavailableError[];
    expect(new Set(errors.map(({ retryAfterSeconds }) => retryAfterSeconds))).toEqual(new Set([undefined]));
  });

  test('counts the duration of slow attempts toward maxWaitSeconds', async () => {
    let late: Failure = () => failed('ECONNRESET');
    const { time, store, sentAt } = await reachedClient((perform) => late(perform), 3_600);
    late = async () => {
      await time.sleep(25_000);
      return failed('ECONNRESET');
    };
    await time.until(rejectionOf(store.inventory.get()));
    expect(sentAt).toHaveLength(3);
  });

  test('rejects after maxWaitSeconds plus twice timeoutMs, even if other calls wait without a response', async () => {
    let silent: Failure = () => failed('ECONNRESET');
    const { time, store, begin } = clientIn((perform) => silent(perform), 3_600);
    await time.until(store.rateLimit.get());
    silent = async () => {
      await time.sleep(30_000);
      return failed('ECONNRESET');
    };
    begin();
    const from = time.now();
    const longest = { seconds: 0 };
    const calls = Array.from({ length: 200 }, async (_, index) => {
      const error = await rejectionOf(store.pets.create({ name: `Rex ${index}`, categoryId: 1 }));
      longest.seconds = (time.now() - from) / 1_000;
      return error as AnimalStoreError;
    });
    const errors = await time.until(Promise.all(calls));
    expect(longest.seconds).toBeWithin(60, 122);
    const unsent = errors.filter(({ attempts }) => attempts === 0);
    expect(unsent.length).toBeGreaterThan(100);
    // Only a request that was sent may have been applied.
    expect(errors.filter((error) => error.isOutcomeUnknown)).toHaveLength(errors.length - unsent.length);
    expect(unsent[0]).toBeInstanceOf(TimeoutError);
    expect(unsent[0]?.message).toBe('The request was not sent: the service does not respond.');
  });

  test.each<[string, Failure]>([
    ['responses arrive', (perform) => perform()],
    ['connections are closed', () => failed('ECONNRESET')],
  ])('does not reject because the process was suspended, if %s first', async (_, afterSuspension) => {
    const resumed = Promise.withResolvers<void>();
    const { time, store, sentAt } = await reachedClient(async (perform) => {
      if (sentAt.length > 32) return perform();
      await resumed.promise;
      return afterSuspension(perform);
    }, 3_600);
    const calls = Array.from({ length: 100 }, () => store.inventory.get().catch((error) => error));
    await time.until(time.sleep(50));
    time.suspend(600_000);
    resumed.resolve();
    // Handled before the timers.
    await new Promise((resolve) => setImmediate(resolve));
    const errors = (await time.until(Promise.all(calls))).filter((result) => result instanceof Error);
    // The time of a request that was sent counts, because it may have been applied long ago.
    expect((errors as AnimalStoreError[]).filter(({ attempts }) => attempts === 0)).toEqual([]);
    expect(errors.length).toBeLessThan(33);
  });

  test('does not reject because the process was suspended while it waited for a limit', async () => {
    let isLimited = true;
    const { time, store } = await reachedClient((perform) => {
      if (!isLimited) return perform();
      return errorOf(503, 'service_unavailable', 'Nothing was changed.', { 'retry-after': '5' });
    }, 3_600);
    const calls = Array.from({ length: 40 }, () => store.inventory.get());
    await time.until(time.sleep(1_000));
    isLimited = false;
    time.suspend(600_000);
    await time.until(Promise.all(calls));
  });

  test('does not reject because other calls with a longer timeoutMs get slow responses', async () => {
    let isSlow = false;
    const { time, store } = await reachedClient(
      async (perform) => {
        if (isSlow) await time.sleep(10_000);
        return perform();
      },
      3_600,
      { timeoutMs: 1_000, maxWaitSeconds: 5 },
    );
    isSlow = true;
    const calls = Array.from({ length: 100 }, () => store.inventory.get({}, { timeoutMs: 60_000 }));
    await time.until(Promise.all(calls));
  });

  test('rejects immediately if maxWaitSeconds or maxRetries is 0', async () => {
    for (const options of [{ maxWaitSeconds: 0 }, { maxRetries: 0 }]) {
      const { time, store } = await reachedClient(failures["a proxy's 502"], 3_600, options);
      const error = await time.until(rejectionOf(store.inventory.get()));
      expect(error).toMatchObject({ status: 502, attempts: 1 });
    }
  });
});

describe('PATCH', () => {
  const isSafe: Readonly<Record<keyof typeof failures, boolean>> = {
    'refused connections': true,
    'unknown hosts': true,
    'broken connections': false,
    'lost responses': false,
    "a proxy's 502": false,
    "a proxy's 503": false,
    "a proxy's 504": false,
    "Cloudflare's 522": false,
    'a 503 with Retry-After': true,
  };

  test.each(Object.entries(isSafe))('without If-Match, after %s: retried is %p', async (name, isRetried) => {
    const { data } = await direct.pets.create({ name: 'Ozzy', categoryId: 1 }).withResponse();
    const { time, store } = await reachedClient(failures[name as keyof typeof failures], 1);
    const update = store.pets.update(data.id, { name: 'Anna' }).withResponse();
    const outcome = await time.until(
      update.then(
        () => true,
        (error: AnimalStoreError) => error.attempts > 1,
      ),
    );
    expect(outcome).toBe(isRetried);
  });

  test('without If-Match is not retried after a 503 with an unknown outcome', async () => {
    const unknown = 'It is unknown whether this request was applied.';
    const { time, store } = await reachedClient(() => errorOf(503, 'service_unavailable', unknown), 1);
    const error = await time.until(rejectionOf(store.pets.update(1, { name: 'Anna' })));
    expect(error).toMatchObject({ code: 'service_unavailable', attempts: 1, retryAfterSeconds: undefined });
  });
});

describe('DELETE', () => {
  const missing = 1_000_000;

  test('of an animal that never existed rejects with a NotFoundError after a 503 that changed nothing', async () => {
    const { time, store } = await reachedClient(failures['a 503 with Retry-After'], 1);
    const error = await time.until(rejectionOf(store.pets.delete(missing)));
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toMatchObject({ code: 'pet_not_found', attempts: 2 });
  });

  test('and PUT have an unknown outcome if the connection is refused, because Bun may already have sent the request on another connection', () => {
    const cause = Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNREFUSED' } });
    const error = new ConnectionError({ code: 'connection_failed', message: '', attempts: 1, cause });
    for (const method of ['PUT', 'DELETE']) expect(isUncertain(error, method)).toBe(true);
    for (const method of ['POST', 'PATCH']) expect(isUncertain(error, method)).toBe(false);
  });

  test('resolves when an attempt with an unknown outcome is followed by a 404 for the resource', async () => {
    for (const name of ['lost responses', "a proxy's 502", "a proxy's 504"] as const) {
      for (const resource of ['pets', 'categories', 'webhooks'] as const) {
        const { time, store } = await reachedClient(failures[name], 1);
        expect(await time.until(store[resource].delete(missing))).toBeUndefined();
      }
    }
  });

  test('with If-Match rejects instead, because another client may have deleted a later version', async () => {
    const { time, store } = await reachedClient(failures['broken connections'], 1);
    const error = await time.until(rejectionOf(store.pets.delete(missing, { ifMatch: '"other"' })));
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toMatchObject({ code: 'pet_not_found', isOutcomeUnknown: true });
    expect(String(error)).toEndWith('The change may have been applied.');
  });

  test('rejects when an attempt with an unknown outcome is followed by any other 404', async () => {
    const others = [
      page(404),
      errorOf(404, 'route_not_found', 'Unknown path.'),
      errorOf(404, 'order_not_found', 'No order.'),
      new Response('{"message":"no Route matched with those values"}', { status: 404, headers: json }),
      new Response('{"code":"pet_not_found","message":"not ours"}', { status: 404, headers: json }),
    ];
    for (const other of others) {
      const responses = [page(502), other];
      const time = new VirtualTime(app.clock);
      const store = time.client({
        key: app.key,
        url: app.url,
        fetch: async () => responses.shift() ?? page(500),
      });
      const error = await time.until(rejectionOf(store.pets.delete(1)));
      expect(error).toMatchObject({ status: 404, attempts: 2 });
      expect(error instanceof NotFoundError || error instanceof ServerError).toBe(true);
    }
  });
});

test('members of an error body other than its code and message do not replace members of the error', async () => {
  const body = {
    code: 'pet_not_found',
    message: 'No pet.',
    status: 404,
    headers: {},
    requestId: 7,
    attempts: 9,
  };
  const store = new AnimalStore({
    key: app.key,
    url: app.url,
    fetch: async () => Response.json(body, { status: 404, headers: { 'X-Request-Id': 'mine' } }),
  });
  const error = await rejectionOf(store.pets.delete(1));
  expect(error).toBeInstanceOf(NotFoundError);
  expect(error).toMatchObject({ attempts: 1, requestId: 'mine', headers: expect.any(Headers) });
});

test('a call with a custom fetch that ignores its signal still times out and can be aborted', async () => {
  const store = new AnimalStore({
    key: app.key,
    url: app.url,
    fetch: () => new Promise(() => {}),
    maxRetries: 0,
    timeoutMs: 20,
  });
  expect(await rejectionOf(store.inventory.get())).toBeInstanceOf(TimeoutError);
  const reason = new Error('The page was closed.');
  const signal = AbortSignal.abort(reason);
  expect(await rejectionOf(store.inventory.get({}, { signal, timeoutMs: 60_000 }))).toBe(reason);
});
