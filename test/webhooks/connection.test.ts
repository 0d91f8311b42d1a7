/** Connections to receivers, which are kept open between requests. */
import { describe, expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { IdleConnections } from '../../src/webhooks/connection.ts';
import { Sender } from '../../src/webhooks/send.ts';
import { until } from '../support/wait.ts';
import { allowing, type Receiver, response, startReceiver } from './receiver.ts';

const local = { resolve: async () => [], allowed: allowing('127.0.0.1') };

function send(sender: Sender, { port }: Receiver) {
  return sender.send({ url: `http://127.0.0.1:${port}/`, accountId: 1, headers: {}, body: '' });
}

describe('a connection to a receiver', () => {
  test('is reused without leaking listeners', async () => {
    await using receiver = await startReceiver((socket) => socket.write(response('200 OK', 'ok')));
    using sender = new Sender(local);
    const warnings: Error[] = [];
    const warn = (warning: Error) => warnings.push(warning);
    process.on('warning', warn);
    for (let count = 1; count <= 20; count++) {
      expect(await send(sender, receiver)).toMatchObject({ status: 200, body: 'ok' });
    }
    process.off('warning', warn);
    expect(receiver.connections().opened).toBe(1);
    expect(warnings).toEqual([]);
  });

  test('is replaced if the receiver has closed it', async () => {
    await using receiver = await startReceiver((socket) => {
      if (receiver.requests.length === 2) socket.destroy();
      else socket.write(response('200 OK'));
    });
    using sender = new Sender(local);
    expect(await send(sender, receiver)).toMatchObject({ status: 200 });
    expect(await send(sender, receiver)).toMatchObject({ status: 200 });
    expect(receiver.requests).toHaveLength(3);
  });

  test('is no longer kept open if the receiver closes connections without a response', async () => {
    const used = new Set<Socket>();
    await using receiver = await startReceiver((socket) => {
      if (used.has(socket)) socket.destroy();
      else used.add(socket) && socket.write(response('200 OK'));
    });
    using sender = new Sender(local);
    for (let count = 1; count <= 10; count++)
      expect(await send(sender, receiver)).toMatchObject({ status: 200 });
    expect(receiver.requests).toHaveLength(11);
  });

  test('is not replaced, and the request is not sent again, if the receiver has sent part of a response', async () => {
    await using receiver = await startReceiver((socket) => {
      if (receiver.requests.length === 1) socket.write(response('200 OK'));
      else socket.end('HTTP/1.1 2');
    });
    using sender = new Sender(local);
    expect(await send(sender, receiver)).toMatchObject({ status: 200 });
    expect(await send(sender, receiver)).toMatchObject({ error: 'response' });
    expect(receiver.requests).toHaveLength(2);
  });

  test('is not reused if the receiver sent more than one response', async () => {
    const poison = response('299 Poison', 'poison');
    await using receiver = await startReceiver((socket) => socket.write(response('200 OK', 'ok') + poison));
    using sender = new Sender(local);
    for (let count = 1; count <= 5; count++) {
      expect(await send(sender, receiver)).toMatchObject({ status: 200, body: 'ok' });
    }
    expect(receiver.connections().opened).toBe(5);
  });

  test('is closed after being idle, and when the sender is disposed', async () => {
    await using receiver = await startReceiver((socket) => socket.write(response('200 OK')));
    using sender = new Sender(local);
    await send(sender, receiver);
    await until(() => receiver.connections().closed === 1);
    await send(sender, receiver);
    sender[Symbol.dispose]();
    await until(() => receiver.connections().closed === 2);
  });
});

test('an idle connection is closed if more than 64 KiB arrive over TLS without any data', async () => {
  const sockets: Socket[] = [];
  await using receiver = await startReceiver((socket) => sockets.push(socket), { isRaw: true });
  // Only a bound in bytes closes it in time.
  using idle = new IdleConnections(3_600_000);
  const open = () => connect(receiver.port, '127.0.0.1');
  // The socket of a TLS connection has no event for messages that carry no data.
  const connection = { socket: open(), transport: open() };
  connection.transport.resume();
  connection.transport.write('begin');
  await until(() => sockets.length === 1);
  idle.add('endpoint', connection);
  sockets[0]?.write(Buffer.alloc(65_537));
  await until(() => connection.socket.destroyed);
  // For ten minutes, the receiver's connections are not kept open.
  const next = { socket: open(), transport: open() };
  idle.add('endpoint', next);
  expect(next.socket.destroyed).toBe(true);
  for (const { transport } of [connection, next]) transport.destroy();
});
