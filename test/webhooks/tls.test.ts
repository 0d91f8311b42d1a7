/** Deliveries over TLS. The receiver's certificate must be valid for the host of the URL. */
import { afterAll, describe, expect } from 'bun:test';
import { join } from 'node:path';
import { Sender } from '../../src/webhooks/send.ts';
import { type Certificate, makeCertificate, openssl } from '../support/certificates.ts';
import { temporaryFolder } from '../support/folder.ts';
import { start } from '../support/process.ts';
import { testWith } from '../support/requirements.ts';
import { until } from '../support/wait.ts';
import {
  allowing,
  proxyVariables,
  type Receiver,
  response,
  startReceiver,
  withEnvironment,
} from './receiver.ts';

const testTls = testWith(...openssl);
const made = new AsyncDisposableStack();
afterAll(() => made.disposeAsync());

const tls: Certificate | undefined =
  Bun.which('openssl') === null
    ? undefined
    : await makeCertificate(made.use(await temporaryFolder()).path, 'hooks.example');
const authority = tls === undefined ? '' : await Bun.file(tls.authorityPath).text();
const receiver = made.use(await startReceiver((socket) => socket.write(response('200 OK')), { tls }));
const local = {
  resolve: async () => ['127.0.0.1'],
  allowed: allowing('127.0.0.1'),
  now: () => 0,
};

function sendTo(
  host: string,
  { port }: Receiver,
  more: { authority?: string; timeoutMs?: number } = { authority },
) {
  const { timeoutMs = 60_000, ...trust } = more;
  const sender = made.adopt(new Sender({ ...local, ...trust }), (used) => used[Symbol.dispose]());
  return sender.send({ url: `https://${host}:${port}/`, headers: {}, body: '', timeoutMs });
}

testTls('the host of the URL is used in the TLS handshake and in the Host header', async () => {
  expect(await sendTo('Hooks.example.', receiver)).toMatchObject({ status: 200 });
  expect(receiver.names.at(-1)).toBe('hooks.example');
  expect(receiver.requests.at(-1)).toMatch(/^host: hooks\.example\.:\d+\r$/im);
});

testTls('proxy variables in the environment are ignored', async () => {
  await using proxy = await startReceiver((socket) => socket.end(response('502 Bad Gateway')));
  await withEnvironment(proxyVariables(proxy), async () => {
    expect(await sendTo('hooks.example', receiver)).toMatchObject({ status: 200 });
  });
  expect(proxy.connections().opened).toBe(0);
});

testTls('a TLS connection is reused only for the same host', async () => {
  const sender = made.adopt(new Sender({ ...local, authority }), (used) => used[Symbol.dispose]());
  const send = (host: string) =>
    sender.send({ url: `https://${host}:${receiver.port}/`, headers: {}, body: '' });
  const { opened } = receiver.connections();
  for (let count = 1; count <= 3; count++) expect(await send('hooks.example')).toMatchObject({ status: 200 });
  expect(receiver.connections().opened).toBe(opened + 1);
  expect(await send('other.example')).toMatchObject({ error: 'tls' });
});

testTls('a receiver that sends TLS messages without data is disconnected', async () => {
  const folder = made.use(await temporaryFolder()).path;
  const { authorityPath } = await makeCertificate(folder, 'hooks.example');
  const files = ['-cert', join(folder, 'server.pem'), '-key', join(folder, 'server.key')];
  // Each session ticket takes about 250 bytes.
  const command = ['openssl', 's_server', '-accept', '127.0.0.1:0', '-www', ...files];
  await using server = start([...command, '-num_tickets', '3000']);
  await server.said(/^ACCEPT 127\.0\.0\.1:\d+/m);
  const port = Number(/^ACCEPT 127\.0\.0\.1:(\d+)/m.exec(server.stdout())?.[1]);
  const trusting = new Sender({ ...local, authority: await Bun.file(authorityPath).text() });
  const delivery = { url: `https://hooks.example:${port}/`, headers: {}, body: '', timeoutMs: 60_000 };
  expect(await trusting.send(delivery)).toMatchObject({
    error: 'response',
    message: 'The receiver sent too many TLS messages.',
  });
});

describe('no delivery is sent to a receiver', () => {
  testTls.each([
    ['with a certificate for another name', 'other.example', { authority }],
    ['with a certificate that lacks the IP address of the URL', '127.0.0.1', { authority }],
    ['with a certificate that is not signed by a trusted authority', 'hooks.example', {}],
  ])('%s', async (_, host, trust) => {
    const { length } = receiver.requests;
    expect(await sendTo(host, receiver, trust)).toMatchObject({ error: 'tls' });
    await withEnvironment({ NODE_TLS_REJECT_UNAUTHORIZED: '0' }, async () => {
      expect(await sendTo(host, receiver, trust)).toMatchObject({ error: 'tls' });
    });
    expect(receiver.requests).toHaveLength(length);
  });

  testTls.each([
    ['that never responds to the handshake', 'timeout', () => undefined],
    ['that closes the connection during the handshake', 'tls', (socket) => socket.end()],
    ['that does not speak TLS', 'tls', (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')],
  ] as const satisfies readonly (readonly [string, string, Parameters<typeof startReceiver>[0]])[])(
    '%s',
    async (_, error, respond) => {
      await using other = await startReceiver(respond, { isRaw: true });
      expect(
        await sendTo('hooks.example', other, { timeoutMs: error === 'timeout' ? 300 : 60_000 }),
      ).toMatchObject({ error });
      await until(() => other.connections().closed === other.connections().opened);
    },
  );
});
