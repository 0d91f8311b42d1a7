/** The thread that talks to receivers and name servers. */
import { afterAll, describe, expect, test } from 'bun:test';
import { ReceiverThread } from '../../src/webhooks/receivers.ts';
import { until } from '../support/wait.ts';
import { allowing, type Receiver, response, startReceiver } from './receiver.ts';

const allowed = allowing('127.0.0.0/8, ::ffff:10.0.0.0/104, fd00::/8');

const deliveryTo = ({ port }: Receiver, protocol = 'http') => ({
  ...{ accountId: 1, url: `${protocol}://127.0.0.1:${port}/hook` },
  ...{ headers: { 'webhook-id': 'evt_1' }, body: '{"id":1}' },
});

describe('the thread that talks to receivers', () => {
  test('sends requests and returns the responses', async () => {
    await using receiver = await startReceiver((socket, request) =>
      socket.write(response('200 OK', request.split(' ')[1], 'Retry-After: 5')),
    );
    using receivers = new ReceiverThread(allowed);
    const url = (count: number) => `http://127.0.0.1:${receiver.port}/${count}`;
    const sent = Array.from({ length: 20 }, (_, count) =>
      receivers.send({ ...deliveryTo(receiver), url: url(count) }),
    );
    expect(await Promise.all(sent)).toEqual(
      Array.from({ length: 20 }, (_, count) => ({
        ...{ status: 200, body: `/${count}`, retryAfter: '5', milliseconds: expect.any(Number) },
      })),
    );
    expect(receiver.requests[0]).toContain('{"id":1}');
  });

  test('checks URLs against the allowed networks', async () => {
    using receivers = new ReceiverThread(allowed);
    const check = (url: string) => receivers.check(url, 1);
    for (const url of ['http://127.0.0.1/', 'https://10.1.2.3/', 'https://[fd00::1]/'])
      expect(await check(url)).toEqual({});
    expect(await check('https://192.168.0.1/')).toMatchObject({
      mistake: 'must resolve to public addresses only: 192.168.0.1 (private)',
    });
    using strict = new ReceiverThread([]);
    expect(await strict.check('https://localhost/', 1)).toEqual({
      mistake: 'must resolve to public addresses only: localhost resolves to an address that is loopback',
      privateAddress: { host: 'localhost', address: expect.any(String), reason: 'loopback' },
    });
  });

  test('aborts a request, before or during the exchange', async () => {
    const abort = new AbortController();
    await using receiver = await startReceiver(() => abort.abort());
    using receivers = new ReceiverThread(allowed);
    const delivery = { ...deliveryTo(receiver), signal: abort.signal };
    expect(await receivers.send(delivery)).toMatchObject({ error: 'aborted' });
    await until(() => receiver.connections().closed === 1);
    expect(await receivers.send(delivery)).toMatchObject({ error: 'aborted' });
    expect(receiver.requests).toHaveLength(1);
  });

  test('ends a request that takes too long', async () => {
    await using receiver = await startReceiver(() => undefined);
    using receivers = new ReceiverThread(allowed);
    expect(await receivers.send({ ...deliveryTo(receiver), timeoutMs: 300 })).toMatchObject({
      error: 'timeout',
    });
    await until(() => receiver.connections().closed === receiver.connections().opened);
  });

  test('aborts its requests and closes its connections when it is disposed of, and starts again', async () => {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    await using receiver = await startReceiver((socket, request) => {
      if (request.includes('/hang')) begin();
      else socket.write(response('200 OK'));
    });
    using receivers = new ReceiverThread(allowed);
    const delivery = deliveryTo(receiver);
    const hanging = receivers.send({ ...delivery, url: delivery.url.replace('hook', 'hang') });
    await begun;
    receivers[Symbol.dispose]();
    expect(await hanging).toMatchObject({ error: 'aborted' });
    expect(await receivers.send(delivery)).toMatchObject({ status: 200 });
  });

  test('settles pending requests if it ends, and starts again at the next use', async () => {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    await using receiver = await startReceiver((socket, request) => {
      if (request.includes('/hang')) begin();
      else socket.write(response('200 OK'));
    });
    const threads = recordThreads();
    using receivers = new ReceiverThread(allowed);
    const delivery = deliveryTo(receiver);
    const hanging = receivers.send({ ...delivery, url: delivery.url.replace('hook', 'hang') });
    await begun;
    const check = receivers.check('https://10.1.2.3/', 1);
    threads[0]?.terminate();
    expect(await hanging).toMatchObject({
      error: 'timeout',
      message: 'The service had to restart the thread that sends requests.',
    });
    // The check may have been finished before the thread ended.
    expect((await check).mistake ?? '').toMatch(/^$|\(the service is too busy; try again\)$/);
    expect(await receivers.send(delivery)).toMatchObject({ status: 200 });
    expect(threads).toHaveLength(2);
  });

  test('reports an internal error to the caller of that request only', async () => {
    await using receiver = await startReceiver((socket) => socket.write(response('200 OK')));
    using receivers = new ReceiverThread(allowed);
    const broken = receivers.send({ ...deliveryTo(receiver), body: null as never });
    const good = receivers.send(deliveryTo(receiver));
    await expect(broken).rejects.toThrow();
    expect(await good).toMatchObject({ status: 200 });
  });
});

/** The threads that are started from now on, until the end of the tests. */
function recordThreads(): Worker[] {
  const threads: Worker[] = [];
  const { Worker: Original } = globalThis;
  globalThis.Worker = class extends Original {
    constructor(...options: ConstructorParameters<typeof Original>) {
      super(...options);
      threads.push(this);
    }
  };
  afterAll(() => {
    globalThis.Worker = Original;
  });
  return threads;
}
