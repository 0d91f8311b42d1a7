/** Clients that reconnect without pause cannot prolong an event-loop tick, while other connections and timers wait. */
import { afterAll, expect } from 'bun:test';
import { join } from 'node:path';
import pino from 'pino';
import { AcceptPauses } from '../../src/http/listener/accept-pauses.ts';
import { BusyConnections } from '../../src/http/listener/busy-connections.ts';
import { openDescriptors } from '../../src/http/listener/descriptors.ts';
import { Listener } from '../../src/http/listener/listener.ts';
import { maxDroppedPerMinute } from '../../src/http/listener/unread-body.ts';
import { adminUrl } from '../support/admin.ts';
import { startTestApp } from '../support/app.ts';
import { root } from '../support/process.ts';
import { testWith } from '../support/requirements.ts';

const app = await startTestApp({ AUTH_FAILURES_PER_MINUTE: '1000000' });
afterAll(() => app[Symbol.asyncDispose]());

const clients = 32;
/** A tick serves as many requests as descriptors are open, and the tick after a pause twice as many. */
const requests = 6 * (openDescriptors() + clients);
/** Longer than a client takes to reconnect, so that a connection is always waiting. */
const slowMs = 2;

const linux = testWith({ name: 'Linux', package: 'linux-image', optional: true }, [
  'test',
  '-e',
  '/proc/self/fd',
]);

/** Makes the service slow, and counts the requests of each event-loop tick. */
function slowRequests() {
  const { onRequest } = AcceptPauses.prototype;
  let total = 0;
  let ticks = 0;
  let inTick = 0;
  let most = 0;
  AcceptPauses.prototype.onRequest = function (now) {
    if (inTick++ === 0) {
      ticks++;
      setImmediate(() => (inTick = 0));
    }
    total++;
    most = Math.max(most, inTick);
    Bun.sleepSync(slowMs);
    onRequest.call(this, now);
  };
  const restore = () => {
    AcceptPauses.prototype.onRequest = onRequest;
  };
  return { counts: () => ({ total, ticks, most }), [Symbol.dispose]: restore };
}

/** Sends requests, each on a new connection as soon as the one before it has its response. */
async function reconnect(port: string, request: string, times: number): Promise<void> {
  const program = join(root, 'test/support/reconnecting-clients.ts');
  const args = [port, request, String(clients), String(times)];
  const child = Bun.spawn([process.execPath, program, ...args], { stdout: 'ignore', stderr: 'inherit' });
  expect(await child.exited).toBe(0);
}

linux.each([
  ['the public port', () => app.url, 'GET /v1/pets'],
  ['the public port, with an invalid body', () => app.url, `POST /v1/pets`],
  ['the admin port', () => adminUrl(app), 'GET /admin/v1/accounts'],
  ['the admin port, outside the API', () => adminUrl(app), 'GET /elsewhere'],
])('an event-loop tick serves few of the clients that reconnect to %s', async (_, url, line) => {
  using served = slowRequests();
  const body = line.startsWith('POST')
    ? `Authorization: Bearer ${app.key}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`
    : '\r\n';
  const request = `${line} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n${body}`;
  await reconnect(new URL(url()).port, request, requests);
  const { total, most } = served.counts();
  expect(total).toBeGreaterThanOrEqual(requests);
  expect(most).toBeLessThan(requests / 2);
});

linux('an event-loop tick serves very few of the clients whose bodies are not read', async () => {
  const head = 'POST /v1/pets HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n';
  const { port } = new URL(app.url);
  await reconnect(port, `${head}0\r\n\r\n`, maxDroppedPerMinute);
  using served = slowRequests();
  await reconnect(port, head, requests);
  const { total, ticks } = served.counts();
  expect(total / ticks).toBeLessThan(clients / 4);
});

linux('a listener that is stopped while it does not accept connections closes its port', async () => {
  const open = () => 0;
  const fetch = () => {
    for (let request = 0; request < 8; request++) listener.onRequest(performance.now());
    Bun.sleepSync(20);
    listener.onRequest(performance.now());
    listener[Symbol.dispose]();
    return new Response();
  };
  const listener = new Listener({
    serve: (port) => Bun.serve({ hostname: '127.0.0.1', port, reusePort: false, development: false, fetch }),
    port: 0,
    bound: () => ({ maxConnections: 1, open, isExhausted: () => false }),
    busy: new BusyConnections(),
    log: pino({ level: 'silent' }),
  });
  const connected = () =>
    Bun.connect({ hostname: '127.0.0.1', port: listener.port, socket: { data: () => undefined } }).then(
      (socket) => {
        socket.end();
        return true;
      },
      () => false,
    );
  await globalThis.fetch(`http://127.0.0.1:${listener.port}/`).catch(() => undefined);
  await new Promise((resolve) => setImmediate(resolve));
  expect(await connected()).toBe(false);
});
