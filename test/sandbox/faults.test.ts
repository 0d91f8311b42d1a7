/** Every fault, from the client's point of view. All responses are checked against the contract. */
import { afterAll, describe, expect, test } from 'bun:test';
import { clientErrors } from '../../src/contract/errors.ts';
import { allOperations, possibleErrors } from '../../src/contract/operations.ts';
import { exchange } from '../support/raw.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';
import { until } from '../support/wait.ts';

const sandbox = await startTestSandbox();
afterAll(() => sandbox[Symbol.asyncDispose]());

const ozzy = { body: '{"name":"Ozzy","categoryId":1}' };
const names = async ({ call }: Awaited<ReturnType<TestSandbox['account']>>) =>
  JSON.parse((await call('GET', '/pets?limit=100')).text).map(({ name }: { name: string }) => name);

test('an event stream whose response never arrives does not count as open', async () => {
  const user = await sandbox.account();
  for (const fault of ['cut=after', 'reply=redirect', 'reply=html-502'])
    for (let count = 0; count < 10; count++)
      await user.call('GET', '/events/stream', { fault }).catch(() => undefined);
  expect((await user.call('GET', '/events/stream')).status).toBe(200);
});

describe('the stream fault', () => {
  /** Opens a stream with a fault, adds an animal, and reads the stream until the text has arrived or it ends. */
  async function read(fault: string) {
    const user = await sandbox.account();
    const headers = { Authorization: `Bearer ${user.key}`, 'X-Sandbox': fault };
    const response = await fetch(`${sandbox.url}/v1/events/stream`, { headers });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    await user.call('POST', '/pets', ozzy);
    let text = '';
    while (!text.endsWith('data: {"id":')) text += new TextDecoder().decode((await reader.read()).value);
    return { text, reader };
  }

  test('cuts a stream in the middle of its first event', async () => {
    const { text, reader } = await read('stream=cut');
    expect(text).toMatch(/^retry: 2000\n\n[\s\S]*id: \d+\nevent: pet\.created\ndata: \{"id":$/);
    expect(await reader.read().catch(({ code }) => code)).toBe('ECONNRESET');
  });

  test('stalls a stream in the middle of its first event, and the connection stays open', async () => {
    const { reader } = await read('stream=stall');
    const next = reader.read().then(
      () => 'ended',
      () => 'ended',
    );
    // A stream that is cut ends in the meantime.
    const other = await read('stream=cut');
    const cut = other.reader.read().catch(() => 'cut');
    expect(await Promise.race([next, cut])).toBe('cut');
    await reader.cancel();
  });

  test('is rejected for operations without a stream', async () => {
    const user = await sandbox.account();
    const answer = await user.call('GET', '/pets', { fault: 'stream=cut' });
    expect(answer.error.message).toContain('The response to listPets is not a stream.');
  });
});

describe('the status fault', () => {
  const operation = allOperations.find(({ operationId }) => operationId === 'createPet');
  const codes = operation === undefined ? [] : possibleErrors(operation);
  const plain = codes.filter((code) => !code.endsWith('_exceeded') && code !== 'api_key_banned');

  test.each(plain)(
    '%s returns an error that conforms to the contract, and the request is not applied',
    async (code) => {
      const user = await sandbox.account();
      const body = `{"name":"${code}","categoryId":1}`;
      const answer = await user.call('POST', '/pets', { body, fault: `code=${code}` });
      expect(answer.error).toMatchObject({
        code,
        status: clientErrors[code as keyof typeof clientErrors].status,
      });
      expect(answer.status).toBe(answer.error.status);
      expect(await names(user)).not.toContain(code);
    },
  );

  test('a 503 has Retry-After and does not count against the limit, while other errors count', async () => {
    const user = await sandbox.account();
    const unavailable = await user.call('GET', '/pets', { fault: 'status=503' });
    expect(unavailable.number('retry-after')).toBe(5);
    expect(unavailable.number('x-ratelimit-remaining')).toBe(60);
    const internal = await user.call('GET', '/pets', { fault: 'status=500' });
    expect(internal.number('x-ratelimit-remaining')).toBe(59);
  });

  test('can set the Retry-After of a 503', async () => {
    const user = await sandbox.account();
    const answer = await user.call('GET', '/pets', { fault: 'status=503; retry-after=17' });
    expect(answer.number('retry-after')).toBe(17);
  });

  test('causes a real 429, which lasts exactly until Retry-After has passed', async () => {
    const user = await sandbox.account();
    const refused = await user.call('GET', '/pets', { fault: 'status=429; retry-after=30' });
    expect(refused.error.code).toBe('rate_limit_exceeded');
    expect(refused.number('retry-after')).toBe(30);
    expect((await user.call('GET', '/pets')).status).toBe(429);
    await sandbox.steered('POST', '/clock', { advanceSeconds: 30 });
    expect((await user.call('GET', '/pets')).status).toBe(200);
  });

  test('causes a real daily 429, which lasts until the next day', async () => {
    const user = await sandbox.account();
    const fault = 'code=daily_quota_exceeded; retry-after=3600';
    const refused = await user.call('GET', '/pets', { fault });
    expect(refused.error.code).toBe('daily_quota_exceeded');
    expect(refused.number('retry-after')).toBe(3_600);
    expect((await user.call('GET', '/pets')).error.code).toBe('daily_quota_exceeded');
  });

  test('rejects a status that the operation never returns, and lists the possible statuses', async () => {
    const user = await sandbox.account();
    const answer = await user.call('GET', '/pets', { fault: 'status=409' });
    expect(answer.error).toMatchObject({
      code: 'invalid_parameter',
      details: [{ in: 'header', name: 'X-Sandbox' }],
    });
    expect(answer.error.message).toContain(
      'listPets never responds with 409. Its errors are 400 invalid_cursor',
    );
  });
});

describe('the cut fault', () => {
  test('before: the connection is cut, and the request is not applied', async () => {
    const user = await sandbox.account();
    const body = '{"name":"cut before","categoryId":1}';
    await expect(user.call('POST', '/pets', { body, fault: 'cut=before' })).rejects.toThrow();
    expect(await names(user)).not.toContain('cut before');
  });

  test('after: the connection is cut after the request is applied, and a retry with the same Idempotency-Key returns the response', async () => {
    const user = await sandbox.account();
    const headers = { 'Idempotency-Key': '"cut-after"' };
    const body = '{"name":"cut after","categoryId":1}';
    await expect(user.call('POST', '/pets', { body, headers, fault: 'cut=after' })).rejects.toThrow();
    const again = await user.call('POST', '/pets', { body, headers });
    expect(again.status).toBe(201);
    expect(again.header('idempotent-replayed')).toBe('true');
    expect((await names(user)).filter((name: string) => name === 'cut after')).toHaveLength(1);
  });
});

test.each([
  ['GET', 'cut=before'],
  ['GET', 'cut=after'],
  ['HEAD', 'cut=after'],
])('a response to %s with %s is cut before its first byte', async (method, fault) => {
  const { key } = await sandbox.account();
  const head = `${method} /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nX-Sandbox: ${fault}\r\n\r\n`;
  expect(await exchange(sandbox.url, head)).toEqual([]);
});

describe('a limit fault', () => {
  test('with `remaining=2` leaves two requests after the current one', async () => {
    const user = await sandbox.account();
    const remaining = async (fault?: string) =>
      (await user.call('GET', '/pets', fault === undefined ? {} : { fault })).number('x-ratelimit-remaining');
    expect([await remaining('remaining=2'), await remaining(), await remaining()]).toEqual([2, 1, 0]);
    expect((await user.call('GET', '/pets')).status).toBe(429);
  });

  test('with `ban=1h` bans the key for an hour, and does not affect other keys', async () => {
    const [user, other] = [await sandbox.account(), await sandbox.account()];
    const banned = await user.call('GET', '/pets', { fault: 'ban=1h' });
    expect(banned.error.code).toBe('api_key_banned');
    expect(banned.number('retry-after')).toBe(3_600);
    expect((await user.call('GET', '/pets')).error.code).toBe('api_key_banned');
    expect((await other.call('GET', '/pets')).status).toBe(200);
    await sandbox.steered('POST', '/clock', { advanceSeconds: 3_600 });
    expect((await user.call('GET', '/pets')).status).toBe(200);
  });
});

describe('a slow response', () => {
  test('delay: the request is applied before the client gets the response', async () => {
    const user = await sandbox.account({ plan: 'enterprise' });
    const aborted = new AbortController();
    const sent = fetch(`${sandbox.url}/v1/pets`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${user.key}`,
        'Content-Type': 'application/json',
        'X-Sandbox': 'delay=10m',
      },
      body: '{"name":"late","categoryId":1}',
      signal: aborted.signal,
    });
    await until(async () => (await names(user)).includes('late'));
    aborted.abort();
    await expect(sent).rejects.toThrow();
  });

  test('slow-body: the body arrives slowly but completely', async () => {
    const user = await sandbox.account();
    const whole = await user.call('POST', '/pets', ozzy);
    const slow = await user.call('POST', '/pets', { ...ozzy, fault: 'slow-body=1ms' });
    expect(slow.text.replace(/\d+/, '')).toBe(whole.text.replace(/\d+/, ''));
  });
});

describe('faults set with POST /sandbox/faults', () => {
  test('apply to all requests of one account until they are removed', async () => {
    const [user, other] = [await sandbox.account(), await sandbox.account()];
    await sandbox.steered('POST', '/faults', { faults: 'status=503', account: user.account });
    expect((await user.call('GET', '/pets')).status).toBe(503);
    expect((await user.call('GET', '/inventory')).status).toBe(503);
    expect((await other.call('GET', '/pets')).status).toBe(200);
    await sandbox.steered('DELETE', `/faults?account=${user.account}`);
    expect((await user.call('GET', '/pets')).status).toBe(200);
  });

  test('can be limited to one operation and a maximum number of hits, and report their hit count', async () => {
    const user = await sandbox.account();
    const faults = 'status=500; times=2; operation=getInventory';
    await sandbox.steered('POST', '/faults', { faults, account: user.account });
    const statuses = [];
    for (const target of ['/pets', '/inventory', '/inventory', '/inventory'])
      statuses.push((await user.call('GET', target)).status);
    expect(statuses).toEqual([200, 500, 500, 200]);
    expect(await sandbox.steered<object[]>('GET', '/faults')).toContainEqual({
      faults,
      account: user.account,
      hits: 2,
      left: 0,
    });
    expect((await user.requests()).map(({ operation, status, fault }) => [operation, status, fault])).toEqual(
      [
        ['listPets', 200, null],
        ['getInventory', 500, faults],
        ['getInventory', 500, faults],
        ['getInventory', 200, null],
      ],
    );
  });

  test('are tried in order, and the first fault that applies is used', async () => {
    const user = await sandbox.account();
    const faults = ['status=500; times=1', 'status=503; times=1'];
    await sandbox.steered('POST', '/faults', { faults, account: user.account });
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push((await user.call('GET', '/pets')).status);
    expect(statuses).toEqual([500, 503, 200]);
  });

  test('apply once to each account if they change limits (remaining and ban)', async () => {
    const user = await sandbox.account();
    await sandbox.steered('POST', '/faults', { faults: 'remaining=1', account: user.account });
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push((await user.call('GET', '/pets')).status);
    expect(statuses).toEqual([200, 200, 429]);
  });

  test('count `times` across all requests with the same header', async () => {
    const user = await sandbox.account();
    const statuses = [];
    for (let n = 0; n < 3; n++)
      statuses.push((await user.call('GET', '/pets', { fault: 'status=503; times=2' })).status);
    expect(statuses).toEqual([503, 503, 200]);
  });

  test('that have a rate let a retrying client succeed, with each write applied exactly once', async () => {
    const user = await sandbox.account({ plan: 'enterprise' });
    const faults = ['cut=after; rate=0.3; seed=7', 'cut=before; rate=0.3; seed=8', 'status=503; rate=0.2'];
    await sandbox.steered('POST', '/faults', { faults, account: user.account });
    const add = async (name: string): Promise<void> => {
      const headers = { 'Idempotency-Key': `"${name}"` };
      const call = user.call('POST', '/pets', { body: `{"name":"${name}","categoryId":2}`, headers });
      const status = await call.then((answer) => answer.status).catch(() => 0);
      if (status === 0 || status === 503) return add(name);
      expect(status).toBe(201);
    };
    for (let n = 0; n < 20; n++) await add(`rate-${n}`);
    await sandbox.steered('DELETE', `/faults?account=${user.account}`);
    const added = (await names(user)).filter((name: string) => name.startsWith('rate-'));
    expect(added.sort()).toEqual(Array.from({ length: 20 }, (_, n) => `rate-${n}`).sort());
  });
});

test('a request with an invalid X-Sandbox header is rejected and not applied', async () => {
  const user = await sandbox.account();
  const answer = await user.call('POST', '/pets', {
    body: '{"name":"no","categoryId":1}',
    fault: 'statsu=503',
  });
  expect(answer.error).toMatchObject({ code: 'invalid_parameter', status: 400 });
  expect(answer.error.message).toStartWith('The X-Sandbox header is invalid: "statsu=503" is not a fault.');
  expect(await names(user)).not.toContain('no');
});
