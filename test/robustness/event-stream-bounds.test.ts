/** Limits on the streams of an account and on the backlog of a reader. */
import { expect, test } from 'bun:test';
import { connect } from 'node:net';
import { maxStreams } from '../../src/contract/events.ts';
import { startAppForFile, startTestApp, type TestApp } from '../support/app.ts';
import { EventSource } from '../support/event-source.ts';
import { until } from '../support/wait.ts';

const app = await startAppForFile();

test('an account may have 10 streams, and an additional stream gets 429 too_many_streams until one of the 10 ends', async () => {
  const { account, key } = await app.tenant('enterprise', { perMinute: 1_000, perDay: 1_000 });
  const { key: second } = await app.app.admin.keys.create(account.id, 'second', undefined, ['events:read']);
  await using stack = new AsyncDisposableStack();
  const sources: EventSource[] = [];
  for (let count = 0; count < maxStreams; count++)
    sources.push(stack.use(await EventSource.open(app.url, { key })));
  const refused = await app.call('GET', '/events/stream', { key: second });
  expect([refused.status, refused.error.code]).toEqual([429, 'too_many_streams']);
  expect(refused.number('Retry-After')).toBe(10);
  expect(refused.number('X-RateLimit-Remaining')).toBe(1_000 - maxStreams - 1);
  expect((await app.call('HEAD', '/events/stream', { key: second })).status).toBe(429);
  await sources[0]?.[Symbol.asyncDispose]();
  await until(async () => (await app.call('HEAD', '/events/stream', { key: second })).status === 200);
  await using _again = await EventSource.open(app.url, { key: second });
});

test('a reader that is 1 MiB behind is disconnected, and all others receive every event', async () => {
  await using own = await startTestApp();
  using slow = await unread(own, '');
  await using reader = await EventSource.open(own.url, own);
  let written = 0;
  // The operating system buffers a few MiB for the reader.
  while (!slow.isClosed() && written < 5_000) {
    await addLarge(own, 10);
    written += 10;
    await until(() => reader.events.length === written);
  }
  expect(slow.isClosed()).toBe(true);
  expect(reader.ids).toEqual(Array.from({ length: written }, (_, index) => index + 1));
  // The buffers of the operating system and of the service are bounded.
  expect(written * largeName.length).toBeLessThan(32 * 1_048_576);
});

test('a reader that catches up receives events at its own pace and is not disconnected', async () => {
  await using own = await startTestApp();
  for (let round = 0; round < 15; round++) await addLarge(own, 100);
  using slow = await unread(own, '?after=0');
  await using reader = await EventSource.open(own.url, { key: own.key, query: '?after=0' });
  await until(() => reader.events.length === 1_500);
  expect(slow.isClosed()).toBe(false);
  slow.resume();
  await until(() => slow.count() === 1_500);
});

test('a stream that catches up is not delayed by ten streams of another account that search the history', async () => {
  await using own = await startTestApp();
  await using stack = new AsyncDisposableStack();
  await addMany(own, 8_000);
  await own.call('PUT', '/categories/1', { body: '{"name":"Dogs"}' });
  const { key } = await own.tenant('pro');
  const open = (one: string, type: string) =>
    EventSource.open(own.url, { key: one, query: `?after=0&type=${type}` });
  const searching: EventSource[] = [];
  for (let count = 0; count < maxStreams; count++)
    searching.push(stack.use(await open(own.key, 'category.created')));
  const other = stack.use(await open(key, 'category.*'));
  await until(() => other.ids.length === 1);
  // Accounts take turns. If streams took turns instead, the last one would find its event after most of the others.
  expect(searching.some(({ ids }) => ids.length === 0)).toBe(true);
  await until(() => searching.every(({ ids }) => ids.length === 1));
  // The streams have joined the readers of new events, and no event is missing or repeated.
  await own.call('PUT', '/categories/2', { body: '{"name":"Cats"}' });
  await until(() => [other, ...searching].every(({ ids }) => ids.length === 2));
  for (const { ids } of [other, ...searching]) expect(ids).toEqual([8_001, 8_002]);
});

/** Adds animals through the store, up to 1,000 at a time. */
async function addMany({ app: { admin } }: TestApp, count: number): Promise<void> {
  const body = { name: 'Ozzy', categoryId: 1n, status: 'available' } as const;
  for (let added = 0; added < count; added += 1_000) {
    const group = Array.from({ length: Math.min(1_000, count - added) }, () =>
      admin.storage.write('createPet', { body, now: Date.now() }),
    );
    await Promise.all(group);
  }
}

const largeName = 'x'.repeat(16_000);

/** Adds animals with longer names than a client may send, so that their events are large. */
async function addLarge({ app: { admin } }: TestApp, count: number): Promise<void> {
  const body = { name: largeName, categoryId: 1n, status: 'available' } as const;
  await Promise.all(
    Array.from({ length: count }, () => admin.storage.write('createPet', { body, now: Date.now() })),
  );
}

/** Opens a stream, and stops reading after the first data. */
async function unread(of: TestApp, query: string) {
  const { hostname, port } = new URL(of.url);
  const socket = connect({ host: hostname, port: Number(port) });
  let isClosed = false;
  let received = '';
  socket.on('error', () => undefined);
  socket.on('close', () => {
    isClosed = true;
  });
  socket.write(
    `GET /v1/events/stream${query} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${of.key}\r\n\r\n`,
  );
  await new Promise<void>((resolve) => {
    socket.once('data', (chunk) => {
      received += chunk.toString('latin1');
      socket.pause();
      resolve();
    });
  });
  return {
    isClosed: () => isClosed,
    count: () => received.match(/^event: /gm)?.length ?? 0,
    resume: () => {
      socket.on('data', (chunk) => {
        received += chunk.toString('latin1');
      });
      socket.resume();
    },
    [Symbol.dispose]: () => void socket.destroy(),
  };
}
