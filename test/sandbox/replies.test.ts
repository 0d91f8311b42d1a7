/** The reply fault, which simulates the responses of proxies. */
import { afterAll, describe, expect, test } from 'bun:test';
import { AnimalStore } from '../../client/src/index.ts';
import { rejectionOf } from '../support/rejection.ts';
import { type SandboxUser, startTestSandbox } from '../support/sandbox.ts';

const sandbox = await startTestSandbox();
afterAll(() => sandbox[Symbol.asyncDispose]());

const namesOf = async ({ call }: SandboxUser) =>
  JSON.parse((await call('GET', '/pets?limit=100')).text).map(({ name }: { name: string }) => name);

describe('the reply fault', () => {
  const send = async (reply: string, name: string) => {
    const user = await sandbox.account();
    const response = await fetch(`${sandbox.url}/v1/pets`, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        Authorization: `Bearer ${user.key}`,
        'Content-Type': 'application/json',
        'X-Sandbox': `reply=${reply}`,
      },
      body: `{"name":"${name}","categoryId":1}`,
    });
    const text = await response.text().catch(() => 'broken');
    return { response, text, isPerformed: (await namesOf(user)).includes(name) };
  };

  test.each([
    ['html-502', 502, false],
    ['html-503', 503, false],
    ['html-504', 504, true],
    ['html-404', 404, false],
  ])("%s returns a proxy's page with status %i; request applied: %p", async (reply, status, isDone) => {
    const { response, text, isPerformed } = await send(reply, reply);
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toBe('text/html');
    expect(response.headers.has('x-ratelimit-limit')).toBe(false);
    expect(text).toStartWith('<html>');
    expect(isPerformed).toBe(isDone);
  });

  test('redirect points to another host, and the request is not applied', async () => {
    const { response, isPerformed } = await send('redirect', 'redirected');
    expect([response.status, response.headers.get('location')]).toEqual([
      302,
      'https://sign-in.example.com/',
    ]);
    expect(isPerformed).toBe(false);
  });

  test("wrong-type returns the service's body with another media type", async () => {
    const { response, text, isPerformed } = await send('wrong-type', 'mistyped');
    expect([response.status, response.headers.get('content-type')]).toEqual([201, 'text/html']);
    expect(JSON.parse(text)).toMatchObject({ name: 'mistyped' });
    expect(isPerformed).toBe(true);
  });

  test("half-body returns the service's status and drops the connection in the middle of the body", async () => {
    const { response, text, isPerformed } = await send('half-body', 'halved');
    expect([response.status, text, isPerformed]).toEqual([201, 'broken', true]);
  });
});

test.each([
  ['html-502', 'unexpected_response', 502],
  ['html-503', 'service_unavailable', 503],
  ['html-504', 'unexpected_response', 504],
  ['html-404', 'unexpected_response', 404],
  ['redirect', 'unexpected_response', 302],
  ['wrong-type', 'unexpected_response', 200],
  ['half-body', 'connection_failed', undefined],
])(
  'with reply=%s, the client rejects with %s and never with a NotFoundError',
  async (reply, code, status) => {
    const { account, key } = await sandbox.account();
    const store = new AnimalStore({ url: sandbox.url, key, maxWaitSeconds: 0 });
    await sandbox.steered('POST', '/faults', { faults: `reply=${reply}; operation=getInventory`, account });
    expect(await rejectionOf(store.inventory.get())).toMatchObject({ code, status });
  },
);
