/** Sends deliveries, including to faulty receivers. */
import { describe, expect, test } from 'bun:test';
import { parseRetryAfter } from '../../src/webhooks/attempt.ts';
import type { Resolve } from '../../src/webhooks/endpoint.ts';
import { type Outcome, Sender, type SenderOptions } from '../../src/webhooks/send.ts';
import { until } from '../support/wait.ts';
import {
  allowing,
  proxyVariables,
  type Receiver,
  repeat,
  response,
  startReceiver,
  withEnvironment,
} from './receiver.ts';

const noNames: Resolve = async (name) => {
  throw new Error(`resolved ${name}`);
};
const local = { resolve: noNames, allowed: allowing('127.0.0.1') };

function sendTo(receiver: Receiver, options: { timeoutMs?: number; signal?: AbortSignal } = {}) {
  const sender = new Sender(local);
  const url = `http://127.0.0.1:${receiver.port}/hooks?a=b%20c`;
  return sender.send({ url, accountId: 1, headers: { 'webhook-id': 'evt_1' }, body: '{"id":1}', ...options });
}

test('a delivery is sent as a POST with the given headers and body', async () => {
  await using receiver = await startReceiver((socket) => socket.end(response('200 OK', 'thanks')));
  expect(await sendTo(receiver)).toEqual({
    status: 200,
    milliseconds: expect.any(Number),
    body: 'thanks',
    retryAfter: undefined,
  });
  const [head = '', body] = receiver.requests[0]?.split('\r\n\r\n') ?? [];
  expect(head.split('\r\n').map((line, index) => (index === 0 ? line : line.toLowerCase()))).toEqual(
    expect.arrayContaining([
      'POST /hooks?a=b%20c HTTP/1.1',
      `host: 127.0.0.1:${receiver.port}`,
      'content-type: application/json',
      'content-length: 8',
      'webhook-id: evt_1',
      expect.stringMatching(/^user-agent: animalstore\/\d+\.\d+\.\d+$/),
    ]),
  );
  expect(body).toBe('{"id":1}');
});

describe("a receiver's response", () => {
  test.each([
    ['204 No Content', {}, 'X-A: b'],
    ['302 Found', {}, 'Location: http://127.0.0.1:9/'],
    ['410 Gone', {}, 'X-A: b'],
    ['429 Too Many Requests', { retryAfterSeconds: 120 }, 'Retry-After: 120'],
    ['503 Service Unavailable', { retryAfterSeconds: 90 }, 'Retry-After: Thu, 01 Jan 1970 00:01:30 GMT'],
    ['503 Service Unavailable', { retryAfterSeconds: 86_400 }, 'Retry-After: 99999999999'],
    ['503 Service Unavailable', { retryAfterSeconds: undefined }, 'Retry-After: soon'],
    ['500 Internal Server Error', {}, 'Content-Encoding: gzip'],
  ])('is reported: %s %p %s', async (status, expected, header) => {
    const body = status.startsWith('204') ? '' : 'text';
    await using receiver = await startReceiver((socket) => socket.end(response(status, body, header)));
    const { retryAfter = '', ...answer } = (await sendTo(receiver)) as Extract<Outcome, { status: number }>;
    expect({ ...answer, retryAfterSeconds: parseRetryAfter(retryAfter, 0) }).toMatchObject({
      ...{ status: Number.parseInt(status, 10), body },
      ...expected,
    });
  });

  test('causes the connection to be closed if it switches protocols', async () => {
    await using receiver = await startReceiver((socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'),
    );
    expect(await sendTo(receiver)).toMatchObject({ status: 101 });
    await until(() => receiver.connections().closed === 1);
  });

  test('is truncated to 1,024 bytes at a character boundary, and the connection is closed', async () => {
    await using receiver = await startReceiver((socket) => repeat(socket, 'HTTP/1.1 200 OK\r\n\r\na', 'é'));
    expect(await sendTo(receiver, { timeoutMs: 600_000 })).toMatchObject({
      status: 200,
      body: `a${'é'.repeat(511)}`,
    });
    await until(() => receiver.connections().closed === 1);
  });

  test.each([
    ['zeros in a chunk size', '', '0'],
    ['characters in a chunk extension', '1;', 'a'],
    ['trailers', '0\r\n', 'A: b\r\n'],
  ])(
    'is judged by its status if it has an endless sequence of %s, and the connection is closed',
    async (_, begin, unit) => {
      const head = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
      await using receiver = await startReceiver((socket) =>
        repeat(socket, head + begin, unit.repeat(9_000)),
      );
      expect(await sendTo(receiver, { timeoutMs: 600_000 })).toMatchObject({ status: 200, body: '' });
      await until(() => receiver.connections().closed === 1);
    },
  );

  test.each([
    ['is incomplete', (end: () => void) => end()],
    ['hangs', () => undefined],
  ])('is judged by its status even if its body %s', async (_, then) => {
    await using receiver = await startReceiver((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc', () => then(() => socket.end()));
    });
    let outcome: Outcome | undefined;
    // Retries with longer timeouts, because a slow machine may need more time for the response headers.
    for (let timeoutMs = 200; outcome === undefined || 'error' in outcome; timeoutMs *= 2) {
      outcome = await sendTo(receiver, { timeoutMs });
    }
    expect(outcome).toMatchObject({ status: 200 });
    await until(() => receiver.connections().closed === receiver.connections().opened);
  });
});

describe('a failed attempt', () => {
  test.each([
    ['hangs before its response', 'timeout', () => undefined],
    ['hangs in its head', 'timeout', (socket) => socket.write('HTTP/1.1 200 OK\r\nX-A: ')],
    ['drips its head', 'timeout', (socket) => repeat(socket, 'HTTP/1.1 200 OK\r\nX-A: ', 'a')],
    ['closes without a response', 'response', (socket) => socket.end()],
    ['resets the connection', 'response', (socket) => socket.resetAndDestroy()],
    ['closes in its head', 'response', (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-')],
    ['sends garbage', 'response', (socket) => socket.end('hello\r\n\r\n')],
    [
      'sends interim responses without end',
      'response',
      (socket) => repeat(socket, '', 'HTTP/1.1 103 Early Hints\r\n\r\n'),
    ],
    ['sends empty lines without end', 'response', (socket) => repeat(socket, '', '\r\n'.repeat(9_000))],
    [
      'sends a header without end',
      'response',
      (socket) => repeat(socket, 'HTTP/1.1 200 OK\r\nX-A: ', 'a'.repeat(9_000)),
    ],
    [
      'sends headers without end',
      'response',
      (socket) => repeat(socket, 'HTTP/1.1 200 OK\r\n', 'A: b\r\n'.repeat(999)),
    ],
  ] as const satisfies readonly (readonly [string, string, Parameters<typeof startReceiver>[0]])[])(
    'is the outcome when the receiver %s',
    async (_, error, respond) => {
      await using receiver = await startReceiver(respond);
      expect(await sendTo(receiver, { timeoutMs: error === 'timeout' ? 300 : 60_000 })).toMatchObject({
        error,
      });
      await until(() => receiver.connections().closed === receiver.connections().opened);
    },
  );

  test('is reported if nothing is listening', async () => {
    const { port } = await stopped();
    const sender = new Sender(local);
    const outcome = await sender.send({
      url: `http://127.0.0.1:${port}/`,
      accountId: 1,
      headers: {},
      body: '',
    });
    expect(outcome).toMatchObject({ error: 'connect', message: expect.stringContaining('ECONNREFUSED') });
    const named = new Sender({ ...local, resolve: async () => ['127.0.0.1'] });
    expect(
      await named.send({ url: `http://shop.example:${port}/`, accountId: 1, headers: {}, body: '' }),
    ).toMatchObject({
      message: `connect ECONNREFUSED shop.example:${port}`,
    });
  });

  test('is reported if the host name cannot be resolved in time', async () => {
    const named = { url: 'http://hooks.example/', accountId: 1, headers: {}, body: '', timeoutMs: 300 };
    expect(await new Sender(local).send(named)).toMatchObject({ error: 'dns' });
    const hanging = new Sender({ ...local, resolve: () => new Promise(() => undefined) });
    expect(await hanging.send(named)).toMatchObject({ error: 'timeout' });
  });

  test('is reported if the caller aborts, before or during the exchange', async () => {
    const abort = new AbortController();
    await using receiver = await startReceiver(() => abort.abort());
    expect(await sendTo(receiver, { signal: abort.signal })).toMatchObject({ error: 'aborted' });
    await until(() => receiver.connections().closed === 1);
    expect(await sendTo(receiver, { signal: abort.signal })).toMatchObject({ error: 'aborted' });
    expect(receiver.requests).toHaveLength(1);
  });
});

describe("a delivery's address", () => {
  /** Options with a resolver that returns the next list of addresses on each call. */
  function changing(...answers: string[][]): SenderOptions & { readonly asked: string[] } {
    const asked: string[] = [];
    const resolve: Resolve = async (name) => answers[asked.push(name) - 1] ?? [];
    return { resolve, asked, allowed: local.allowed };
  }

  /** A receiver on 127.0.0.1, which is allowed, and a service on the same port of 127.0.0.2, which is not allowed. */
  async function bothOnOnePort() {
    const servers = new AsyncDisposableStack();
    const receiver = servers.use(await startReceiver((socket) => socket.write(response('200 OK'))));
    const service = servers.use(
      await startReceiver((socket) => socket.end(response('200 OK')), {
        host: '127.0.0.2',
        port: receiver.port,
      }),
    );
    const request = { url: `http://hooks.example:${receiver.port}/`, accountId: 1, headers: {}, body: '' };
    return { receiver, service, request, [Symbol.asyncDispose]: () => servers.disposeAsync() };
  }

  test('is the one that was checked, even if the host name later resolves to a private address', async () => {
    await using both = await bothOnOnePort();
    const options = changing(['127.0.0.1'], ['127.0.0.2'], ['127.0.0.1', '127.0.0.2']);
    using sender = new Sender(options);
    expect(await sender.send(both.request)).toMatchObject({ status: 200 });
    expect(options.asked).toEqual(['hooks.example']);
    expect(both.receiver.requests[0]).toContain(`hooks.example:${both.receiver.port}`);
    // The delivery is blocked even though there is an idle connection and an allowed address.
    expect(await sender.send(both.request)).toMatchObject({ error: 'blocked' });
    expect(await sender.send(both.request)).toMatchObject({ error: 'blocked' });
    expect(both.receiver.requests).toHaveLength(1);
    expect(both.service.connections().opened).toBe(0);
  });

  test('is never taken from a redirect', async () => {
    await using inner = await startReceiver((socket) => socket.end(response('200 OK')), {
      host: '127.0.0.2',
    });
    for (const status of ['301', '302', '303', '307', '308']) {
      for (const location of [`http://127.0.0.2:${inner.port}/`, `http://127.0.0.1:${inner.port}/`, '/']) {
        await using receiver = await startReceiver((socket) =>
          socket.end(response(`${status} Moved`, '', `Location: ${location}`)),
        );
        expect(await sendTo(receiver)).toMatchObject({ status: Number(status) });
        expect(receiver.requests).toHaveLength(1);
      }
    }
    expect(inner.connections().opened).toBe(0);
  });

  test('is the next address of the host if the first does not respond', async () => {
    await using receiver = await startReceiver((socket) => socket.end(response('200 OK')));
    const options = { ...changing(['127.0.0.2', '127.0.0.1']), allowed: allowing('127.0.0.0/8') };
    const url = `http://hooks.example:${receiver.port}/`;
    expect(await new Sender(options).send({ url, accountId: 1, headers: {}, body: '' })).toMatchObject({
      status: 200,
    });
  });

  test('ignores proxy environment variables', async () => {
    await using receiver = await startReceiver((socket) => socket.end(response('200 OK')));
    await using proxy = await startReceiver((socket) => socket.end(response('502 Bad Gateway')));
    await withEnvironment(proxyVariables(proxy), async () => {
      expect(await sendTo(receiver)).toMatchObject({ status: 200 });
    });
    expect(proxy.connections().opened).toBe(0);
  });
});

/** A receiver that has stopped, so that its port is closed. */
async function stopped(): Promise<Receiver> {
  await using receiver = await startReceiver(() => undefined);
  return receiver;
}
