/** Event streams of service processes: workers, instances, shutdown and closed connections. */
import { afterAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { AdminServices } from '../../src/app/app.ts';
import { scopes } from '../../src/domain/scope.ts';
import { startCluster } from '../support/cluster.ts';
import { EventSource } from '../support/event-source.ts';
import { temporaryFolder } from '../support/folder.ts';
import { ample, makeStore, operatorOf, type Service, startService } from '../support/process.ts';
import { until } from '../support/wait.ts';
import { Connection } from './connection.ts';
import { workersTests } from './worker-stores.ts';

const workersTest = workersTests();

async function readerKey({ accounts, keys }: AdminServices): Promise<string> {
  const { id } = await accounts.create('reader', 'enterprise', ample);
  return (await keys.create(id, 'reader', undefined, scopes)).key;
}

async function addPet({ url }: Pick<Service, 'url'>, key: string): Promise<void> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const body = '{"name":"Ozzy","categoryId":1}';
  expect((await fetch(`${url}/v1/pets`, { method: 'POST', headers, body })).status).toBe(201);
}

async function serving(environment: Readonly<Record<string, string>>) {
  await using started = new AsyncDisposableStack();
  const folder = started.use(await temporaryFolder());
  await makeStore(folder.path);
  const operator = started.use(await operatorOf(folder.path));
  const service = started.use(await startService(folder.path, { DRAIN_SECONDS: '0', ...environment }));
  const key = await readerKey(operator);
  const kept = started.move();
  return { service, operator, key, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

const streamRequest = (key: string) =>
  `GET /v1/events/stream?after=0 HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${key}\r\n\r\n`;

const workerOf = ({ headers }: EventSource) => headers.get('x-request-id')?.replace(/-\d+$/, '') ?? '';

workersTest('every worker streams the commits of all workers', async ({ operator, startInstance }) => {
  await using service = await startInstance();
  const key = await readerKey(operator);
  await using stack = new AsyncDisposableStack();
  const met = new Map<string, EventSource>();
  // The operating system distributes connections, so several attempts may be needed.
  await until(async () => {
    const source = await EventSource.open(service.url, { key });
    if (met.has(workerOf(source))) await source[Symbol.asyncDispose]();
    else met.set(workerOf(source), stack.use(source));
    return met.size === 2;
  });
  for (let count = 1; count <= 10; count++) await addPet(service, key);
  const [one, other] = [...met.values()] as [EventSource, EventSource];
  await until(() => one.events.length === 10 && other.events.length === 10);
  expect(one.events).toEqual(other.events);
});

const cluster = await startCluster({ instances: 2 });
afterAll(() => cluster?.[Symbol.asyncDispose]());

describe.skipIf(cluster === undefined)('two instances', () => {
  const { instances, operator } = cluster ?? ({} as NonNullable<typeof cluster>);

  test("stream each other's changes, resume each other's streams, and end them when a key is revoked", async () => {
    const [one, other] = instances as [Service, Service];
    const { id } = await operator.accounts.create('reader', 'enterprise', ample);
    const { key, id: keyId } = await operator.keys.create(id, 'reader', undefined, scopes);
    const first = await EventSource.open(one.url, { key });
    await addPet(other, key);
    await until(() => first.events.length === 1);
    await first[Symbol.asyncDispose]();
    await Promise.all(Array.from({ length: 50 }, (_, at) => addPet(at % 2 ? one : other, key)));
    await using second = await EventSource.open(other.url, { key, lastEventId: first.lastEventId });
    await addPet(one, key);
    await until(() => second.events.length === 51);
    const from = Number(first.lastEventId) + 1;
    expect(second.ids).toEqual(Array.from({ length: 51 }, (_, at) => from + at));
    await operator.keys.revoke(keyId);
    await until(() => second.hasEnded);
  });
});

test('shutdown ends streams immediately, even if a client does not read its stream', async () => {
  await using own = await serving({ DRAIN_SECONDS: '1' });
  const { service, key } = own;
  await using source = await EventSource.open(service.url, { key });
  using silent = await Connection.open(service.url);
  silent.pause();
  silent.write(streamRequest(key));
  service.signal('SIGTERM');
  await until(() => source.hasEnded);
  expect(await service.exited).toBe(0);
});

test('an event stream is never closed by IDLE_TIMEOUT_SECONDS', async () => {
  await using own = await serving({ IDLE_TIMEOUT_SECONDS: '1' });
  const { service, key } = own;
  await using source = await EventSource.open(service.url, { key });
  // Waits for the idle timeout of two other connections.
  for (let round = 0; round < 2; round++) {
    using idle = await Connection.open(service.url);
    idle.write('GET /livez HTTP/1.1\r\nHost: test\r\n\r\n');
    await idle.reply();
    await expect(idle.reply()).rejects.toThrow('No answer');
  }
  await addPet(service, key);
  await until(() => source.events.length === 1);
  expect(source.hasEnded).toBe(false);
});

test('an event stream survives many new connections when MAX_CONNECTIONS is reached', async () => {
  await using own = await serving({ MAX_CONNECTIONS: '20' });
  const { service, key } = own;
  await using source = await EventSource.open(service.url, { key });
  using crowd = new DisposableStack();
  let closed = 0;
  // Connections with incomplete request heads are closed when the maximum is reached for the second time.
  await until(async () => {
    const connection = await Connection.open(service.url).catch(() => undefined);
    if (connection === undefined) return false;
    crowd.use(connection).write('GET /livez HTTP/1.1\r\nHost:');
    void connection.reply().catch(() => {
      closed++;
    });
    return closed >= 40;
  });
  await service.logged('too many connections');
  crowd.dispose();
  await until(() =>
    addPet(service, key).then(
      () => true,
      () => false,
    ),
  );
  await until(() => source.events.length > 0);
  expect(source.hasEnded).toBe(false);
});

const rssOf = ({ pid }: Pick<Service, 'pid'>) =>
  1_024 * Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]);

test.skipIf(process.platform !== 'linux')(
  'streams whose clients do not read use little memory, even with many old events',
  async () => {
    await using own = await serving({});
    const { service, operator, key } = own;
    const name = 'x'.repeat(16_000);
    const body = { name, categoryId: 1n, status: 'available' } as const;
    for (let round = 0; round < 30; round++) {
      const adding = Array.from({ length: 100 }, () =>
        operator.storage.write('createPet', { body, now: Date.now() }),
      );
      await Promise.all(adding);
    }
    const readAll = async () => {
      await using source = await EventSource.open(service.url, { key, query: '?after=0' });
      await until(() => source.events.length === 3_000);
    };
    // Reads all events once before measuring, because the runtime does not return the memory to the system immediately.
    await readAll();
    const readers = 8;
    const before = rssOf(service);
    using stack = new DisposableStack();
    for (let count = 0; count < readers; count++) {
      const reader = stack.use(await Connection.open(service.url));
      reader.pause();
      reader.write(streamRequest(key));
    }
    await readAll();
    expect(rssOf(service) - before).toBeLessThan(0.5 * readers * 3_000 * name.length);
  },
);
