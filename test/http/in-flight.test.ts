/** A connection with a request in flight is not idle, however long the request takes. */
import { expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import { BusyConnections } from '../../src/http/listener/busy-connections.ts';

/** The shortest possible timeout. */
const idleSeconds = 1;

/** Sends a request on a new connection. `closed` resolves with the complete response when the connection closes. */
function ask(port: number, path: string) {
  const socket: Socket = connect(port, '127.0.0.1');
  const answered = Promise.withResolvers<void>();
  let text = '';
  socket.on('data', (data) => {
    text += data;
    answered.resolve();
  });
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  const closed = new Promise<string>((resolve) => socket.on('close', () => resolve(text)));
  return { answered: answered.promise, closed };
}

test('a connection outlasts the idle timeout while its request is in flight, and is closed when it is idle again', async () => {
  const late = Promise.withResolvers<Response>();
  const busy = new BusyConnections();
  await using server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: idleSeconds,
    fetch: (request, its) => {
      const isKept = request.url.endsWith('/kept');
      return isKept
        ? busy.keepOpenUntilResponse(request, its, late.promise, idleSeconds)
        : new Promise<Response>(() => {});
    },
  });
  const port = server.port ?? 0;
  const kept = ask(port, '/kept');
  const other = ask(port, '/other');
  // The runtime closes this connection as idle. The first connection stays open.
  expect(await other.closed).toBe('');
  late.resolve(new Response('late'));
  await kept.answered;
  expect(await kept.closed).toEndWith('late');
});
