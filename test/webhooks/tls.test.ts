/** Deliveries over TLS. The receiver's certificate must be valid for the host of the URL. */
import { afterAll, describe, expect } from 'bun:test';
import { join } from 'node:path';
import { Sender } from '../../src/webhooks/send.ts';
import { ThreadTimeBudget } from '../../src/webhooks/thread-time-budget.ts';
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
};

function sendTo(
  host: string,
  { port }: Receiver,
  more: { authority?: string; timeoutMs?: number } = { authority },
) {
  const { timeoutMs = 60_000, ...trust } = more;
  const sender = made.adopt(new Sender({ ...local, ...trust }), (used) => used[Symbol.dispose]());
  return sender.send({ url: `https://${host}:${port}/`, accountId: 1, headers: {}, body: '', timeoutMs });
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
    sender.send({ url: `https://${host}:${receiver.port}/`, accountId: 1, headers: {}, body: '' });
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
  const delivery = {
    url: `https://hooks.example:${port}/`,
    accountId: 1,
    headers: {},
    body: '',
    timeoutMs: 60_000,
  };
  expect(await trusting.send(delivery)).toMatchObject({
    error: 'response',
    message: 'The receiver sent too many TLS messages, or in too many pieces.',
  });
});

describe('in a TLS handshake', () => {
  testTls.each([
    ['14 kB of certificates are verified', 14_000, { status: 200 }],
    [
      'more than 16 KiB of certificates are not verified, because that can take a second',
      18_000,
      { error: 'tls', message: 'The TLS handshake has more than 16384 bytes.' },
    ],
  ])('%s', async (_, bytes, outcome) => {
    const names = Array.from(
      { length: bytes / 50 },
      (_, at) => `${at + 1_000}${'a'.repeat(30)}.hooks.example`,
    );
    const folder = made.use(await temporaryFolder()).path;
    const large = await makeCertificate(folder, 'hooks.example', names);
    await using other = await startReceiver((socket) => socket.write(response('200 OK')), { tls: large });
    const trust = { authority: await Bun.file(large.authorityPath).text() };
    expect(await sendTo('hooks.example', other, trust)).toMatchObject(outcome);
    if ('error' in outcome) await until(() => other.connections().closed === other.connections().opened);
  });

  describe('an account that is charged for too much processor time', () => {
    const state = { now: 0, used: 0, perReading: 0 };
    const time = new ThreadTimeBudget({ now: () => state.now, used: () => (state.used += state.perReading) });
    const sender = made.adopt(new Sender({ ...local, authority, time }), (it) => it[Symbol.dispose]());
    const send = (accountId: number, { port }: Receiver = receiver) =>
      sender.send({
        ...{ accountId, headers: {}, body: '', timeoutMs: 60_000 },
        url: `https://hooks.example:${port}/`,
      });
    const rest = expect.stringMatching(/take too long to process; try again in \d+ s\.$/);
    const useUp = (accountId: number) =>
      time.meter(accountId).run(() => {
        state.used += 1_000;
      });

    testTls('must rest before it connects again', async () => {
      state.perReading = 5;
      expect(await send(1)).toMatchObject({ status: 200 });
      expect(time.restSeconds(1)).toBe(0);
      state.perReading = 0;
      useUp(1);
      // The idle connection is reused, so nothing is charged for another one.
      expect(await send(1)).toMatchObject({ status: 200 });
      sender[Symbol.dispose]();
      expect(await send(1)).toMatchObject({ error: 'connect', message: rest });
      expect(await send(2)).toMatchObject({ status: 200 });
      state.now += 60_000;
      sender[Symbol.dispose]();
      expect(await send(1)).toMatchObject({ status: 200 });
    });

    testTls('has its other handshakes ended', async () => {
      await using other = await startReceiver(
        (socket) => {
          useUp(3);
          socket.write('a');
        },
        { isRaw: true },
      );
      expect(await send(3, other)).toMatchObject({ error: 'tls', message: rest });
    });
  });

  testTls('more than 256 pieces are not read', async () => {
    await using other = await startReceiver(
      (socket) => {
        // Each byte of a record of 16,384 bytes arrives separately.
        socket.setNoDelay(true);
        socket.write(Buffer.from([22, 3, 3, 0x40, 0]));
        const write = () => void (socket.destroyed || socket.write('a', () => setImmediate(write)));
        write();
      },
      { isRaw: true },
    );
    expect(await sendTo('hooks.example', other)).toMatchObject({
      error: 'tls',
      message: 'The TLS handshake arrived in too many pieces.',
    });
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
