/** The stream of events, read by an independent parser. Its limits are tested in event-stream-bounds.test.ts. */
import { describe, expect, test } from 'bun:test';
import { parseJson } from '../../src/contract/json.ts';
import { startAppForFile, startTestApp, type TestApp } from '../support/app.ts';
import { EventSource } from '../support/event-source.ts';
import { keyLosses, keyLossNames, losingKey } from '../support/key-losses.ts';
import { newPet } from '../support/pets.ts';
import { until } from '../support/wait.ts';

const app = await startAppForFile();

interface Opened {
  readonly key?: string;
  readonly of?: TestApp;
  readonly lastEventId?: string;
}

const open = (query = '', { key = app.key, of = app, ...more }: Opened = {}) =>
  EventSource.open(of.url, { key, query, ...more });

async function addPet(of: TestApp = app): Promise<bigint> {
  const answer = await of.call('POST', '/pets', { body: newPet() });
  expect(answer.status).toBe(201);
  return (answer.json as { id: bigint }).id;
}

async function newestId(): Promise<number> {
  const events = (await app.call('GET', '/events?order=desc&limit=1')).json as { id: bigint }[];
  return Number(events[0]?.id ?? 0n);
}

const wealthy = () => app.tenant('enterprise', { perMinute: 1_000, perDay: 1_000 });

describe('the response of the event stream', () => {
  test('has the headers of a stream and the rate limit headers, and counts as one request', async () => {
    const { key } = await wealthy();
    await using source = await open('', { key });
    const { headers, retry } = source;
    expect(retry).toBe(2_000);
    expect(headers.get('content-type')).toBe('text/event-stream');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-accel-buffering')).toBe('no');
    expect(headers.get('x-ratelimit-remaining')).toBe('999');
    expect((await app.call('GET', '/pets', { key })).number('X-RateLimit-Remaining')).toBe(998);
  });

  test('sends each event with its id, its type and the same bytes as the feed', async () => {
    await using source = await open();
    await addPet();
    await app.call('PUT', '/categories/5', { body: '{"name":"Dogs \u2028 \\" and cats"}' });
    await until(() => source.events.length === 2);
    const [first] = source.ids as [number];
    const feed = await app.call('GET', `/events?after=${first - 1}`);
    expect(`[${source.events.map(({ data }) => data).join(',')}]`).toBe(feed.text);
    for (const { id, type, data } of source.events)
      expect(parseJson(data)).toMatchObject({ id: BigInt(id), type });
    expect(source.events.map(({ type }) => type)).toEqual(['pet.created', 'category.created']);
  });

  test('sends a comment every 15 s', async () => {
    await using source = await open();
    await addPet();
    await until(() => source.events.length === 1);
    expect(source.comments).toBe(0);
    app.clock.advance(15);
    await until(() => source.comments === 1);
    app.clock.advance(15);
    await until(() => source.comments === 2);
  });
});

describe('the position in the event stream', () => {
  test('defaults to the next event, and Last-Event-ID takes precedence over the `after` parameter', async () => {
    await addPet();
    const end = await newestId();
    await using next = await open();
    await using after = await open(`?after=${end - 1}`);
    await using last = await open(`?after=${end}`, { lastEventId: String(end - 1) });
    await using empty = await open(`?after=${end}`, { lastEventId: '' });
    await addPet();
    for (const [source, first] of [
      [next, end + 1],
      [after, end],
      [last, end],
      [empty, end + 1],
    ] as const) {
      await until(() => source.ids.at(-1) === end + 1);
      expect(source.ids[0]).toBe(first);
    }
  });

  test.each(['x', '1.0', '9223372036854775808', '1, 2'])(
    'is rejected with 400 for an invalid Last-Event-ID: %s',
    async (id) => {
      const { status, error } = await app.call('GET', '/events/stream?after=y', {
        headers: { 'Last-Event-ID': id },
      });
      expect([status, error.code]).toEqual([400, 'invalid_parameter']);
      expect(error.details?.map(({ in: place, name }) => `${place} ${name}`)).toEqual([
        'query after',
        'header Last-Event-ID',
      ]);
    },
  );

  test('is rejected with 410 events_expired for an event that does not exist', async () => {
    const answer = await app.call('GET', `/events/stream?after=${(await newestId()) + 1}`);
    expect([answer.status, answer.error.code]).toEqual([410, 'events_expired']);
  });

  test('can be resumed without gaps or duplicates, even during writes', async () => {
    const from = await newestId();
    const seen: number[] = [];
    let isWriting = true;
    const writers = Array.from({ length: 4 }, async () => {
      while (isWriting) await addPet();
    });
    for (let round = 0; round < 20; round++) {
      const lastEventId = String(seen.at(-1) ?? from);
      const source = await open('', { lastEventId });
      await until(() => source.events.length >= 1 + round);
      await source[Symbol.asyncDispose]();
      seen.push(...source.ids);
    }
    isWriting = false;
    await Promise.all(writers);
    expect(seen).toEqual(Array.from({ length: seen.length }, (_, index) => from + 1 + index));
  });

  test('may be thousands of events behind: the stream catches up and continues with new events', async () => {
    const from = await newestId();
    await Promise.all(Array.from({ length: 2_100 }, () => addPet()));
    await using source = await open(`?after=${from}`);
    await until(() => source.events.length === 2_100);
    await addPet();
    await until(() => source.events.length === 2_101);
    expect(source.ids).toEqual(Array.from({ length: 2_101 }, (_, index) => from + 1 + index));
  });
});

describe('the event types of a stream', () => {
  test('are the requested types, limited to those that the key may read', async () => {
    const { account } = await wealthy();
    const scopes = ['events:read', 'pets:read'] as const;
    const { key } = await app.app.admin.keys.create(account.id, 'pets', undefined, scopes);
    await using pets = await open('?type=pet.*', { key });
    await using all = await open('', { key });
    await using orders = await open('?type=order.placed');
    const petId = await addPet();
    await app.call('PUT', '/categories/6', { body: '{"name":"Six"}' });
    await app.call('POST', '/orders', { body: `{"petId":${petId}}` });
    await app.call('PUT', '/categories/6', { body: '{"name":"Seven"}' });
    await until(() => orders.events.length === 1 && pets.events.length === 2 && all.events.length === 4);
    const typesOf = ({ events }: EventSource) => events.map(({ type }) => type);
    expect(typesOf(pets)).toEqual(['pet.created', 'pet.updated']);
    expect(typesOf(all)).toEqual(['pet.created', 'category.created', 'pet.updated', 'category.updated']);
    expect(typesOf(orders)).toEqual(['order.placed']);
    const refused = await app.call('GET', '/events/stream?type=order.*', { key });
    expect([refused.status, refused.error.code]).toEqual([403, 'insufficient_scope']);
  });
});

describe('an event stream', () => {
  test.each(keyLossNames)('ends when %s, without affecting other streams', async (what) => {
    const losing = await losingKey(app, what);
    await using source = await open('', losing);
    await using others = await open('', await wealthy());
    await keyLosses[what](app, losing);
    await until(() => source.hasEnded);
    await addPet();
    await until(() => others.events.length === 1);
    expect(source.events).toEqual([]);
  });

  test('does not end when its key loses a scope that the stream does not need', async () => {
    const { key, keyId } = await wealthy();
    await using source = await open('?type=pet.*', { key });
    await using all = await open('', { key });
    await app.operator.keys.setScopes(keyId, ['pets:read', 'events:read']);
    await until(() => all.hasEnded);
    await addPet();
    await until(() => source.events.length === 1);
  });

  test('ends immediately when the service stops, and can then be resumed without a gap', async () => {
    await using own = await startTestApp();
    const first = await open('', { key: own.key, of: own });
    await addPet(own);
    await until(() => first.events.length === 1);
    await own.restart();
    await until(() => first.hasEnded);
    await addPet(own);
    const lastEventId = first.events[0]?.id ?? '';
    await using second = await open('', { key: own.key, of: own, lastEventId });
    await until(() => second.events.length === 1);
    expect([...first.ids, ...second.ids]).toEqual([1, 2]);
  });

  test('ends when events are missing, and a new stream gets 410', async () => {
    await using own = await startTestApp();
    await using source = await open('', { key: own.key, of: own });
    await addPet(own);
    await own.operator.storage.write('skipEvents', null);
    await addPet(own);
    await until(() => source.hasEnded);
    expect(source.ids).toEqual([1]);
    expect((await own.call('GET', '/events/stream?after=1')).error.code).toBe('events_expired');
  });
});
