/** Requests that wait for an event, and the reasons why they end early. */
import { describe, expect, test } from 'bun:test';
import { startAppForFile, startTestApp, type TestApp } from '../support/app.ts';
import { keyLosses, keyLossNames, losingKey } from '../support/key-losses.ts';
import { newPet } from '../support/pets.ts';
import { until } from '../support/wait.ts';

const app = await startAppForFile();

const wait = (of: TestApp, key: string, query = '') =>
  of.call('GET', `/events?after=0&wait=30${query}`, { key });

/** Resolves once the service has accepted the request and is waiting for an event. */
async function waiting(of: TestApp, key: string, query = '') {
  const listeners = async () => (await of.app.watch.traffic.traffic())[0]?.eventListeners ?? 0;
  const before = await listeners();
  const answer = wait(of, key, query);
  await until(async () => (await listeners()) > before);
  return { answer };
}

describe('a request that waits for an event', () => {
  test.each(keyLossNames)('gets the same error as a new request when %s', async (what) => {
    const losing = await losingKey(app, what);
    const { answer } = await waiting(app, losing.key, '&type=order.*');
    await keyLosses[what](app, losing);
    const { status, error, headers } = await answer;
    const again = await wait(app, losing.key, '&type=order.*');
    expect([status, error]).toEqual([again.status, again.error]);
    for (const name of ['retry-after', 'www-authenticate'])
      expect(headers.get(name)).toBe(again.headers.get(name));
  });

  test('gets 401 when its key loses a scope and is then revoked', async () => {
    const losing = await losingKey(app, 'its key loses the scope of a type');
    const { answer } = await waiting(app, losing.key);
    const { answer: refused } = await waiting(app, losing.key, '&type=order.*');
    await keyLosses['its key loses the scope of a type'](app, losing);
    // Both requests are admitted again in the same tick, so the other one is waiting again when this one is refused.
    expect((await refused).status).toBe(403);
    await keyLosses['its key is revoked'](app, losing);
    const { status, error } = await answer;
    expect([status, error.code]).toEqual([401, 'invalid_api_key']);
  });

  test('keeps waiting when its key loses a scope that the request does not need', async () => {
    await using own = await startTestApp();
    const losing = await losingKey(own, 'its key loses the scope of a type');
    const { answer } = await waiting(own, losing.key);
    await keyLosses['its key loses the scope of a type'](own, losing);
    await own.call('POST', '/pets', { body: newPet() });
    const response = await answer;
    expect([response.status, response.json]).toMatchObject([200, [{ type: 'pet.created' }]]);
    // One more request is allowed, because the waiting request is counted only once.
    expect(response.number('X-RateLimit-Remaining')).toBe(1);
  });
});

test('when an account has more than 100 waiting requests, the oldest gets an empty page, and other accounts keep waiting', async () => {
  await using own = await startTestApp();
  const { key } = await own.tenant('enterprise', { perMinute: 1_000, perDay: 1_000 });
  const { answer: other } = await waiting(own, own.key);
  const { answer: oldest } = await waiting(own, key);
  const later = Array.from({ length: 100 }, () => wait(own, key));
  expect([(await oldest).status, (await oldest).json]).toEqual([200, []]);
  await own.call('POST', '/pets', { body: newPet() });
  for (const response of await Promise.all([other, ...later]))
    expect(response.json).toMatchObject([{ type: 'pet.created' }]);
});

describe('while the service drains', () => {
  test('a waiting request gets a response immediately, and later requests within a second', async () => {
    const own = await startTestApp({ DRAIN_SECONDS: '2' });
    const { answer } = await waiting(own, own.key);
    const stopping = own[Symbol.asyncDispose]();
    expect([(await answer).status, (await answer).json]).toEqual([200, []]);
    let responses = 0;
    const ask = () => wait(own, own.key).then(({ json }) => expect(json).toEqual([]));
    for (let isOver = false; !isOver; ) {
      await ask().then(
        () => responses++,
        () => {
          isOver = true;
        },
      );
    }
    await stopping;
    // New connections are refused in the last half second.
    expect(responses).toBeWithin(1, 4);
  });
});
