/** Listing and following events with the real service. Long waits run in virtual time. */
import { describe, expect, test } from 'bun:test';
import {
  AnimalStore,
  AuthenticationError,
  type Event,
  EventsExpiredError,
  type FollowOptions,
} from '../../client/src/index.ts';
import { startAppForFile, startTestApp } from '../support/app.ts';
import { rejectionOf } from '../support/rejection.ts';
import { tcpProxy } from '../support/tcp-proxy.ts';
import { VirtualTime } from '../support/virtual-time.ts';
import { until } from '../support/wait.ts';

const app = await startAppForFile();
let waits = 0;
const store = new AnimalStore({
  key: app.key,
  url: app.url,
  onRequest: ({ url }) => {
    if (url.includes('wait=30')) waits++;
  },
});

const add = (count: number, of = store) =>
  Promise.all(Array.from({ length: count }, () => of.pets.create({ name: 'Ozzy', categoryId: 7n })));
const end = async () => (await store.events.list({ order: 'desc', limit: 1 })).next;

/** The ids of the first events that a loop receives. */
async function take(count: number, options: FollowOptions, of = store): Promise<bigint[]> {
  const ids: bigint[] = [];
  for await (const { id } of of.events.follow(options)) if (ids.push(id) === count) break;
  return ids;
}

const idsBehind = (after: bigint, count: number) =>
  Array.from({ length: count }, (_, at) => after + BigInt(at + 1));

/** Resolves when the service has received a request with `wait`. */
function nextWait(): Promise<unknown> {
  const before = waits;
  return until(() => waits > before);
}

test('a page of events contains typed events and the next position, in both orders', async () => {
  const after = await end();
  const [pet] = await add(1);
  await store.categories.put(7n, { name: 'Dogs' });
  const { events, next } = await store.events.list({ after });
  expect(events).toMatchObject([
    { id: after + 1n, type: 'pet.created', data: pet },
    { id: after + 2n, type: 'category.created', data: { id: 7n, name: 'Dogs' } },
  ]);
  expect(next).toBe(after + 2n);
  expect(await store.events.list({ after, type: ['category.*', 'order.placed'] })).toEqual({
    events: events.slice(1),
    next,
  });
  expect(await store.events.list({ order: 'desc', limit: 1 })).toEqual({ events: events.slice(1), next });
  expect((await store.events.list({ after: 0, limit: 1 }).withResponse()).data).toMatchObject({ next: 1n });
});

describe('events.follow', () => {
  test('starts after the event `after`, and yields every event from every page exactly once, in order', async () => {
    const after = await end();
    await add(250);
    expect(await take(250, { after })).toEqual(idsBehind(after, 250));
    expect(await take(1, { after: 0n })).toEqual([1n]);
  });

  test('starts with the next event by default', async () => {
    const after = await end();
    const waiting = nextWait();
    const first = take(1, {});
    await waiting;
    await add(1);
    expect(await first).toEqual([after + 1n]);
  });

  test('reports the position after the events of a page have been handled, and advances it past skipped types', async () => {
    const after = await end();
    await add(2);
    const ending = new AbortController();
    const positions: bigint[] = [];
    const onPosition = (position: bigint) => {
      positions.push(position);
      ending.abort(new Error('It has its position.'));
    };
    const types = ['order.*'] as const;
    const isWaiting = nextWait();
    const error = rejectionOf(take(1, { after, types, onPosition, signal: ending.signal }));
    await isWaiting;
    // After this many seconds, the service ends the long poll with an empty page.
    await until(() => {
      app.clock.advance(30);
      return positions.length > 0;
    });
    expect(await error).toMatchObject({ message: 'It has its position.' });
    expect(positions).toEqual([after + 2n]);
  });

  test('resumes without a gap after broken connections and a restart of the service', async () => {
    await using own = await startTestApp();
    let proxy = await tcpProxy(own.url);
    const address = 'http://service.example';
    const fetchThere = (url: string, init: RequestInit) => fetch(url.replace(address, proxy.url), init);
    const followed = new AnimalStore({ key: own.key, url: address, fetch: fetchThere });
    const direct = () => new AnimalStore({ key: own.key, url: own.url });
    const all = take(30, { after: 0n }, followed);
    await add(10, direct());
    proxy.drop();
    await add(10, direct());
    await proxy.cut();
    await own.restart();
    proxy = await tcpProxy(own.url);
    await add(10, direct());
    expect(await all).toEqual(idsBehind(0n, 30));
    await proxy[Symbol.asyncDispose]();
  });

  test("ends a pending request when the iterator is closed, or throws the signal's reason when the signal aborts", async () => {
    const ending = new AbortController();
    const isWaiting = nextWait();
    const aborted = rejectionOf(take(1, { signal: ending.signal }));
    await isWaiting;
    ending.abort(new Error('The page was closed.'));
    expect(await aborted).toMatchObject({ message: 'The page was closed.' });
    expect(await rejectionOf(take(1, { signal: ending.signal }))).toBe(ending.signal.reason);
    const iterator = store.events.follow()[Symbol.asyncIterator]();
    const isWaitingAgain = nextWait();
    const next = iterator.next();
    await isWaitingAgain;
    expect(await iterator.return?.()).toEqual({ done: true, value: undefined });
    expect(await next).toEqual({ done: true, value: undefined });
  });

  test('throws EventsExpiredError if events are missing, and AuthenticationError if the key is invalid', async () => {
    const error = await rejectionOf(take(1, { after: 1_000_000n }));
    expect(error).toBeInstanceOf(EventsExpiredError);
    expect(error).toMatchObject({ code: 'events_expired', status: 410 });
    expect((error as Error).message).toContain('read the resources again');
    const stranger = new AnimalStore({ key: 'ask_unknown', url: app.url });
    expect(await rejectionOf(take(1, {}, stranger))).toBeInstanceOf(AuthenticationError);
  });
});

/** Follows events from a server that sends these responses, then one event. Returns the request times in seconds. */
async function timesOf(responses: readonly Response[], options = {}): Promise<number[]> {
  const time = new VirtualTime(app.clock);
  const times: number[] = [];
  const event = '[{"id":8,"type":"pet.created","timestamp":"2027-01-15T10:00:00.000Z","data":{}}]';
  const fetch = async () => {
    times.push(Math.floor(time.now() / 1_000));
    return responses[times.length - 1] ?? page(event, 8);
  };
  const client = time.client({ key: app.key, url: app.url, fetch, ...options });
  expect(await time.until(take(1, { after: 7n }, client))).toEqual([8n]);
  return times;
}

function page(body: string, after: number): Response {
  const headers = { 'Content-Type': 'application/json', Link: `</v1/events?after=${after}>; rel="next"` };
  return new Response(body, { headers });
}

const refusal = (status: number, retryAfter: string) =>
  new Response('', { status, headers: { 'Retry-After': retryAfter } });

describe('while following events, the client', () => {
  test('respects Retry-After, even if it is longer than maxWaitSeconds', async () => {
    const asked = await timesOf([refusal(503, '20'), refusal(429, '7200')], { maxWaitSeconds: 1 });
    expect(asked.filter((at, index) => index === 0 || at !== asked[index - 1]).slice(0, 2)).toEqual([0, 20]);
    expect(asked[2]).toBeGreaterThanOrEqual(7_220);
  });

  test('waits a second after an immediate empty response, which a service sends when it shuts down', async () => {
    expect(await timesOf([page('[]', 7), page('[]', 7), page('[]', 7)])).toEqual([0, 1, 2, 3]);
  });

  test('does not wait after a page that only advances the position', async () => {
    expect(await timesOf([page('[]', 7), page('[]', 9)])).toEqual([0, 1, 1]);
  });

  test('ignores the rate limits in a delayed response', async () => {
    const time = new VirtualTime(app.clock);
    const late = page('[]', 9);
    late.headers.set('RateLimit', '"minute";r=0;t=60, "day";r=9;t=9999');
    late.headers.set('RateLimit-Policy', '"minute";q=60;w=60, "day";q=9;w=86400');
    const fetch = async (url: string, init: RequestInit) => {
      if (url.includes('/inventory')) return time.fetch(url, init);
      await time.sleep(25_000);
      return late;
    };
    const client = time.client({ key: app.key, url: app.url, fetch });
    expect(await time.until(client.events.list({ after: 7n, wait: 30 }))).toMatchObject({ next: 9n });
    await time.until(client.inventory.get());
    expect(time.now()).toBe(25_000);
  });

  test('does not block other calls', async () => {
    const time = new VirtualTime(app.clock);
    const fetch = (url: string, init: RequestInit) =>
      url.includes('/events') ? new Promise<never>(() => {}) : time.fetch(url, init);
    const client = time.client({ key: app.key, url: app.url, fetch });
    const ending = new AbortController();
    const loops = Array.from({ length: 100 }, () => take(1, { after: 7n, signal: ending.signal }, client));
    await time.until(time.sleep(200_000));
    expect(await time.until(client.inventory.get())).toBeDefined();
    ending.abort();
    await Promise.allSettled(loops);
  });
});

// Compiles only if checking `type` narrows `data`.
export function nameOf(event: Event): string | undefined {
  return event.type === 'pet.updated' || event.type === 'category.deleted' ? event.data.name : undefined;
}
