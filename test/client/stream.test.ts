/** Streaming events with the real service. */
import { describe, expect, test } from 'bun:test';
import { type Clock, systemClock } from '../../client/src/clock.ts';
import {
  AnimalStore,
  type AnimalStoreOptions,
  AuthenticationError,
  EventsExpiredError,
  ServerError,
  type StreamOptions,
} from '../../client/src/index.ts';
import { startAppForFile, startTestApp } from '../support/app.ts';
import { rejectionOf } from '../support/rejection.ts';
import { tcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/wait.ts';

const app = await startAppForFile();
const store = new AnimalStore({ key: app.key, url: app.url });

/** Ends the wait for data of each open stream. */
const silences = new Set<() => void>();
/** A clock without delays, on which an open stream stalls only if the test decides so. */
const clock: Clock = {
  ...systemClock,
  random: () => 0,
  after(ms, run) {
    if (ms < 45_000) return systemClock.after(0, run);
    silences.add(run);
    return () => silences.delete(run);
  },
};

function clientOf(options: Partial<AnimalStoreOptions> = {}): AnimalStore {
  const all = { key: app.key, url: app.url, clock, ...options };
  return new AnimalStore(all);
}

/** A name with line separators, which JSON does not escape and which are not line breaks in event streams. */
const name = 'Oz\u2028zy\u2029';
const add = (count: number, of = store) =>
  Promise.all(Array.from({ length: count }, () => of.pets.create({ name, categoryId: 7n })));
const end = async () => (await store.events.list({ order: 'desc', limit: 1 })).next;

const idsBehind = (after: bigint, count: number) =>
  Array.from({ length: count }, (_, at) => after + BigInt(at + 1));

/** Collects the ids of a stream's events, until there are `count`. */
function taking(count: number, options: StreamOptions, of: AnimalStore) {
  const ids: bigint[] = [];
  const all = (async () => {
    for await (const { id } of of.events.stream(options)) if (ids.push(id) === count) break;
    return ids;
  })();
  return { ids, all };
}

/** A response that is a stream with this text, and stays open. */
function streamOf(text: string): Response {
  const start = (controller: ReadableStreamDefaultController) =>
    controller.enqueue(new TextEncoder().encode(text));
  return new Response(new ReadableStream({ start }), { headers: { 'content-type': 'text/event-stream' } });
}

const isStream = (url: string) => url.includes('/events/stream');

describe('events.stream', () => {
  test('yields every event after `after` exactly once, in order, and then new events', async () => {
    const after = await end();
    await add(120);
    const { ids, all } = taking(123, { after }, clientOf());
    await until(() => ids.length === 120);
    await add(3);
    expect(await all).toEqual(idsBehind(after, 123));
  });

  test('yields only the selected types', async () => {
    const after = await end();
    await store.categories.put(7n, { name: 'Dogs' });
    await add(1);
    await store.categories.put(7n, { name: 'Cats' });
    const { all } = taking(2, { after, types: ['category.*', 'order.placed'] }, clientOf());
    expect(await all).toEqual([after + 1n, after + 3n]);
  });

  test('starts with the next event by default, even if the first connection breaks before it', async () => {
    const after = await end();
    let opened = 0;
    const fetchOnce = async (url: string, init: RequestInit) => {
      if (!isStream(url) || ++opened > 1) return fetch(url, init);
      await add(1);
      return new Response('', { headers: { 'content-type': 'text/event-stream' } });
    };
    const { all } = taking(1, {}, clientOf({ fetch: fetchOnce }));
    expect(await all).toEqual([after + 1n]);
  });

  test('resumes without a gap after broken connections, a restart of the service, and a 502 from a proxy', async () => {
    await using own = await startTestApp();
    let proxy = await tcpProxy(own.url);
    const address = 'http://service.example';
    let opened = 0;
    const fetchThere = async (url: string, init: RequestInit) => {
      if (isStream(url) && ++opened % 2 === 0) return new Response('<h1>Bad gateway</h1>', { status: 502 });
      return fetch(url.replace(address, proxy.url), init);
    };
    const { ids, all } = taking(
      30,
      { after: 0n },
      clientOf({ key: own.key, url: address, fetch: fetchThere }),
    );
    const direct = () => new AnimalStore({ key: own.key, url: own.url });
    await add(10, direct());
    await until(() => ids.length === 10);
    proxy.drop();
    await add(10, direct());
    await until(() => ids.length === 20);
    await own.restart();
    await proxy[Symbol.asyncDispose]();
    proxy = await tcpProxy(own.url);
    await add(10, direct());
    expect(await all).toEqual(idsBehind(0n, 30));
    expect(opened).toBeGreaterThanOrEqual(5);
    await proxy[Symbol.asyncDispose]();
  });

  test('reopens the stream if nothing arrives for 45 s', async () => {
    const after = await end();
    let opened = 0;
    const stalled = async (url: string, init: RequestInit) =>
      isStream(url) && ++opened === 1 ? streamOf('retry: 2000\n\n') : fetch(url, init);
    const { all } = taking(1, { after }, clientOf({ fetch: stalled }));
    await until(() => silences.size > 0);
    for (const expire of silences) expire();
    await add(1);
    expect(await all).toEqual([after + 1n]);
    expect(opened).toBe(2);
  });

  test('tolerates unknown event types, fields and messages without an id, in chunks and lines of any kind', async () => {
    const text = [
      'retry: 2000\n\n: comment\n\nevent: goodbye\ndata: {"reason":"later"}\n\nweight: 3\n',
      'id: 8\r\nevent: pet.groomed\r\ndata: {"id":8,"type":"pet.groomed",\r\ndata: "data":{"id":9007199254740993}}\r\n\r\n',
      'id: 8\ndata: {"id":8}\n\nid: 9\ndata: {"id":9}\n\nid: 10\ndata: {"id":1',
    ].join('');
    const chunks = [...new TextEncoder().encode(text)].map((byte) => new Uint8Array([byte]));
    const body = new ReadableStream({
      pull: (controller) => {
        const chunk = chunks.shift();
        if (chunk === undefined) controller.close();
        else controller.enqueue(chunk);
      },
    });
    const responses = [
      new Response(body, { headers: { 'content-type': 'text/event-stream' } }),
      streamOf('id: 10\ndata: {"id":10}\n\n'),
    ];
    const urls: string[] = [];
    const send = async (url: string) => {
      urls.push(new URL(url).search);
      return responses.shift() ?? new Response('', { status: 401 });
    };
    const received: unknown[] = [];
    for await (const event of clientOf({ fetch: send }).events.stream({ after: 7 }))
      if (received.push(event) === 3) break;
    expect(received).toEqual([
      { id: 8n, type: 'pet.groomed', data: { id: 2n ** 53n + 1n } },
      { id: 9n },
      { id: 10n },
    ] as unknown[]);
    expect(urls).toEqual(['?after=7', '?after=9']);
  });

  test('throws a ServerError for a message with an id that is not an event, because a change would be lost', async () => {
    for (const data of ['{"id":', '{"id":9}', 'null']) {
      const send = async () => streamOf(`id: 8\ndata: ${data}\n\n`);
      const error = await rejectionOf(taking(1, { after: 7 }, clientOf({ fetch: send })).all);
      expect(error).toBeInstanceOf(ServerError);
    }
  });

  test('throws EventsExpiredError if events are missing, and AuthenticationError if the key is invalid', async () => {
    const expired = await rejectionOf(taking(1, { after: 1_000_000n }, clientOf()).all);
    expect(expired).toBeInstanceOf(EventsExpiredError);
    const refused = await rejectionOf(taking(1, {}, clientOf({ key: 'ask_unknown' })).all);
    expect(refused).toBeInstanceOf(AuthenticationError);
  });

  test("closes its connection when the loop ends, or throws the signal's reason when the signal aborts", async () => {
    const { key } = await app.tenant('pro');
    const own = clientOf({ key });
    const ending = new AbortController();
    const after = await end();
    await add(2);
    // An account can have 10 open streams.
    for (let round = 0; round < 12; round++)
      expect(await taking(2, { after, signal: ending.signal }, own).all).toHaveLength(2);
    const { ids, all } = taking(1_000_000, { after, signal: ending.signal }, own);
    await until(() => ids.length > 0);
    ending.abort(new Error('The page was closed.'));
    expect(await rejectionOf(all)).toMatchObject({ message: 'The page was closed.' });
  });

  test('does not block other calls while the account has too many streams', async () => {
    let refusals = 0;
    const refuse = async (url: string, init: RequestInit) => {
      if (!isStream(url) || ++refusals > 2) return fetch(url, init);
      const body = { code: 'too_many_streams', message: 'Too many.', status: 429 };
      return Response.json(body, { status: 429, headers: { 'retry-after': '7200' } });
    };
    const patient: Clock = { ...clock, after: (ms, run) => (ms < 60_000 ? clock.after(ms, run) : () => {}) };
    const all = { key: app.key, url: app.url, clock: patient, fetch: refuse };
    const own = new AnimalStore(all);
    const ending = new AbortController();
    const stream = taking(1, { after: 0, signal: ending.signal }, own);
    stream.all.catch(() => {});
    await until(() => refusals > 0);
    expect(await own.inventory.get()).toHaveProperty('sold');
    ending.abort();
  });
});
