import { expect } from 'bun:test';
import { scopes } from '../../src/domain/scope.ts';
import { maxAdminConnections } from '../../src/http/listener/connection-limits.ts';
import { bodyTimeoutMs } from '../../src/http/listener/unread-body.ts';
import { addOperatorTo } from '../support/admin.ts';
import { EventSource } from '../support/event-source.ts';
import { temporaryFolder } from '../support/folder.ts';
import { consoleOf, issueKey, operatorOf, serveCommand, startService } from '../support/process.ts';
import { testWith } from '../support/requirements.ts';
import { until } from '../support/wait.ts';
import { startReceiver } from '../webhooks/receiver.ts';
import { beginPost, Connection } from './connection.ts';

const descriptors = 96;

testWith({ name: 'prlimit', package: 'util-linux' }, ['prlimit', '--nofile=96', 'true'])(
  'new clients are still served, even large files, when there are more incomplete request heads than descriptors',
  async () => {
    await using folder = await temporaryFolder();
    const command = ['prlimit', `--nofile=${descriptors}:${descriptors}`, ...serveCommand];
    await using service = await startService(folder.path, { DRAIN_SECONDS: '0' }, command);
    // Authenticated requests stay open, even though nothing can be listed or counted without a free descriptor.
    const key = await issueKey(folder.path, 'pro', undefined, scopes);
    await using stream = await EventSource.open(service.url, { key });
    const waiting = fetch(`${service.url}/v1/events?after=0&wait=30`, {
      headers: { Authorization: `Bearer ${key}` },
    });
    using held = new DisposableStack();
    for (let count = 0; count < 3 * descriptors; count++) {
      const connection = await Connection.open(service.url).catch(() => undefined);
      if (connection === undefined) continue;
      held.use(connection).write('GET /livez HTTP/1.1\r\nHost:');
    }
    for (const path of ['/livez', '/docs/scalar.js', '/openapi.json']) {
      expect((await answered(service.url + path)).status).toBe(200);
    }
    await service.logged('too many connections');
    expect(service.stderr()).not.toContain('EMFILE');
    const added = await answered(`${service.url}/v1/pets`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: '{"name":"Ozzy","categoryId":1}',
    });
    expect(added.status).toBe(201);
    expect(await (await waiting).json()).toMatchObject([{ type: 'pet.created' }]);
    await until(() => stream.events.length === 1);
    service.signal('SIGTERM');
    expect(await service.exited).toBe(0);
  },
);

testWith({ name: '/proc', package: 'linux-image', optional: true }, ['test', '-e', '/proc/self/fd'])(
  'too many incomplete request heads at the admin port block neither operators nor clients',
  async () => {
    await using folder = await temporaryFolder();
    await using service = await startService(folder.path, { DRAIN_SECONDS: '0' });
    const console = await consoleOf(service);
    using held = new DisposableStack();
    const isLogged = () => service.stderr().includes('too many connections');
    for (let count = 0; count < maxAdminConnections || !isLogged(); count++) {
      const connection = await Connection.open(console).catch(() => undefined);
      if (connection === undefined) continue;
      held.use(connection).write('GET / HTTP/1.1\r\nHost:');
    }
    for (const url of [`${console}/`, `${service.url}/livez`]) expect((await answered(url)).status).toBe(200);
    expect(service.stderr()).toContain(`"port":${new URL(console).port}`);
    expect(service.stderr()).not.toContain(`"port":${new URL(service.url).port},"open"`);
    service.signal('SIGTERM');
    expect(await service.exited).toBe(0);
  },
);

testWith({ name: '/proc', package: 'linux-image', optional: true }, ['test', '-e', '/proc/self/fd'])(
  'when MAX_CONNECTIONS is reached, idle connections are closed and a request in progress is completed',
  async () => {
    await using folder = await temporaryFolder();
    await using service = await startService(folder.path, { DRAIN_SECONDS: '0', MAX_CONNECTIONS: '20' });
    const body = '{"name":"Ozzy","categoryId":1}';
    using busy = await Connection.open(service.url);
    const key = await issueKey(folder.path, 'pro');
    const list = `GET /v1/pets HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${key}\r\n\r\n`;
    // The response to the first request shows that the service has read the second request, which was sent in the same
    // packet.
    busy.write(list + beginPost(key, body, 10));
    expect((await busy.reply()).status).toBe(200);
    using idle = new DisposableStack();
    const closed: Promise<unknown>[] = [];
    for (let count = 0; count < 30; count++) {
      // When the maximum is reached, the listener is replaced. A connection that the old listener has not accepted yet
      // is refused or reset.
      const connection = await Connection.open(service.url).catch(() => undefined);
      if (connection === undefined) continue;
      idle.use(connection).write(list);
      // The connection is closed before a second response.
      const replies = connection.reply().then(() => connection.reply());
      closed.push(replies.catch(() => 'closed'));
    }
    expect(await Promise.race(closed)).toBe('closed');
    busy.write(body.slice(10));
    expect((await busy.reply()).status).toBe(201);
    await service.logged('too many connections');
  },
);

testWith({ name: 'prlimit', package: 'util-linux', optional: true }, [
  'prlimit',
  '--nofile=3000:3000',
  'true',
])(
  'requests to webhooks do not count as connections of clients, and there are fewer if few descriptors are free',
  async () => {
    await using folder = await temporaryFolder();
    await using hung = await startReceiver(() => undefined);
    const command = ['prlimit', '--nofile=3000:3000', ...serveCommand];
    const env = { DRAIN_SECONDS: '0', MAX_CONNECTIONS: '15', WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };
    await using service = await startService(folder.path, env, command);
    const key = await issueKey(folder.path, 'pro', undefined, scopes);
    const post = async (path: string, body: object) => {
      const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
      const init = { method: 'POST', headers, body: JSON.stringify(body) };
      expect((await answered(service.url + path, init)).status).toBe(201);
    };
    for (let count = 0; count < 16; count++)
      await post('/v1/webhooks', { url: `http://127.0.0.1:${hung.port}/`, types: ['pet.*'] });
    for (const name of ['Ozzy', 'Max']) await post('/v1/pets', { name, categoryId: 1 });
    await until(() => hung.requests.length > 20);
    for (let count = 0; count < 5; count++) {
      using connection = await Connection.open(service.url);
      expect((await connection.get('/v1/pets', key)).status).toBe(200);
    }
    expect(service.stderr()).not.toContain('too many connections');
    service.signal('SIGTERM');
    expect(await service.exited).toBe(0);
    // A twenty-fourth of the places, which are a fifth of the free descriptors.
    expect(hung.requests.length).toBeLessThan(26);
  },
);

testWith({ name: '/proc', package: 'linux-image', optional: true }, ['test', '-e', '/proc/self/fd'])(
  'authenticated requests that wait, and uploads, survive many connections with incomplete request heads',
  async () => {
    await using folder = await temporaryFolder();
    await using service = await startService(folder.path, { DRAIN_SECONDS: '0', MAX_CONNECTIONS: '40' });
    const console = await consoleOf(service);
    await using operator = await operatorOf(folder.path);
    const { token } = await addOperatorTo(operator.storage, 'admin');
    const pet = '{"name":"Ozzy","categoryId":1}';
    const file = `${pet}\n`.repeat(2);
    const account = await operator.accounts.create('till', 'pro');
    const { key } = await operator.keys.create(account.id, 'till', undefined, ['events:read', 'pets:read']);
    const waiting = [
      'GET /v1/events?wait=5 HTTP/1.1\r\nHost: test\r\n',
      `Authorization: Bearer ${key}\r\n\r\n`,
    ];
    const requests = [
      [service.url, waiting.join(''), '', 200, 0],
      [service.url, beginPost(await issueKey(folder.path, 'pro'), pet, 10), pet.slice(10), 201, 0],
      [console, beginImport(token, file, 10), file.slice(10), 200, maxAdminConnections],
    ] as const;
    for (const [url, begin, rest, status, crowd] of requests) {
      let outcome: number | undefined;
      do outcome = await statusBesideCrowd(url, begin, rest, crowd + 50);
      while (outcome === undefined);
      expect(outcome).toBe(status);
    }
  },
);

/**
 * Returns the status of a request whose rest is sent while many other requests are incomplete. Undefined if this machine was
 * too slow to send it before the service's timeout.
 */
async function statusBesideCrowd(url: string, begin: string, rest: string, crowd: number) {
  using upload = await Connection.open(url);
  const beganAt = performance.now();
  upload.write(begin);
  using held = new DisposableStack();
  // Opens connections twice, because the service first closes connections that are older than a second.
  for (let wave = 0; wave < 2; wave++) {
    const closed: Promise<unknown>[] = [];
    for (let count = 0; count < crowd; count++) {
      const connection = await Connection.open(url).catch(() => undefined);
      if (connection === undefined) continue;
      held.use(connection).write('GET / HTTP/1.1\r\nHost:');
      closed.push(connection.reply().catch(() => 'closed'));
    }
    expect(await Promise.race(closed)).toBe('closed');
  }
  upload.write(rest);
  const { status } = await upload.reply();
  return performance.now() - beganAt < bodyTimeoutMs ? status : undefined;
}

function beginImport(token: string, file: string, sentLength: number): string {
  return [
    'POST /admin/v1/pets/import?format=ndjson HTTP/1.1',
    'Host: 127.0.0.1',
    `Authorization: Bearer ${token}`,
    'Content-Type: application/x-ndjson',
    `Content-Length: ${file.length}`,
    '',
    file.slice(0, sentLength),
  ].join('\r\n');
}

/** Sends a request, and retries it if the connection is refused or reset. */
async function answered(url: string, request: RequestInit = {}): Promise<Response> {
  let response: Response | undefined;
  await until(async () => {
    const signal = AbortSignal.timeout(5_000);
    response = await fetch(url, { ...request, signal, keepalive: false }).catch(() => undefined);
    return response !== undefined;
  });
  return response as Response;
}
