/**
 * Requests whose body arrives, or whose webhook URL is resolved, after an operator has changed the key with which they were
 * admitted.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import { once } from 'node:events';
import { connect } from 'node:net';
import pino from 'pino';
import type { Scope } from '../../src/domain/scope.ts';
import { publicly, startTestApp, type TestApp } from '../support/app.ts';
import { newStores } from '../support/new-stores.ts';
import { newPet } from '../support/pets.ts';
import { type RawResponse, responsesOf } from '../support/raw.ts';
import { until } from '../support/wait.ts';

const silent = pino({ level: 'silent' });
/** Hosts that are being resolved, each with a function that completes the resolution. */
const resolving = new Map<string, () => void>();
/** Resolves names that begin with `slow` only when the test says so. */
async function resolveSlowly(host: string): Promise<readonly string[]> {
  if (host.startsWith('slow')) await new Promise<void>((resolve) => resolving.set(host, resolve));
  return publicly();
}

const scopes: readonly Scope[] = ['pets:read', 'pets:create', 'events:read', 'webhooks:write'];
const webhook = '{"url":"https://shop.example/","types":["pet.*"]}';

/** Sends a request without the end of its body. Resolves once the request has been counted. */
async function begin(app: TestApp, key: string, [method, target, body]: readonly [string, string, string]) {
  const { hostname, port } = new URL(app.url);
  const remaining = async () =>
    (await app.call('GET', '/rate-limit', { key })).number('X-RateLimit-Remaining');
  const before = await remaining();
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  const head = [
    `${method} /v1${target} HTTP/1.1`,
    ...[`Host: ${hostname}`, `Authorization: Bearer ${key}`, 'Content-Type: application/json'],
    ...[`Content-Length: ${body.length}`, 'Connection: close', '', ''],
  ];
  socket.write(head.join('\r\n') + body.slice(0, 5));
  await until(async () => (await remaining()) < before);
  return async (): Promise<RawResponse> => {
    socket.write(body.slice(5));
    await once(socket, 'close');
    return responsesOf(Buffer.concat(chunks).toString('latin1'))[0] as RawResponse;
  };
}

describe.each(await newStores())('on %s', (_name, makeStore) => {
  const store = makeStore();
  const started = store.then(({ settings }) => startTestApp(settings, silent, resolveSlowly));
  afterAll(async () => {
    await (await started)[Symbol.asyncDispose]();
    await (await store)[Symbol.asyncDispose]();
  });

  async function keyOf(app: TestApp, perMinute = 1_000) {
    const { account } = await app.tenant('enterprise', { perMinute, perDay: 1_000 });
    const { key, id: keyId } = await app.operator.keys.create(account.id, 'slow', undefined, scopes);
    return { account, key, keyId };
  }

  /** Waits until the process has noticed the change. */
  const noticed = (app: TestApp, key: string, status: number) =>
    until(async () => (await app.call('POST', '/pets', { key, body: newPet() })).status === status);

  test.each([
    ['an animal', ['POST', '/pets', newPet()]],
    ['a webhook', ['POST', '/webhooks', webhook]],
  ] as const)(
    'a request that creates %s gets 401 and changes nothing if its key is revoked before its body arrives',
    async (_what, request) => {
      const app = await started;
      const { account, key, keyId } = await keyOf(app);
      const finish = await begin(app, key, request);
      await app.operator.keys.revoke(keyId);
      await noticed(app, key, 401);
      const { last } = await app.operator.storage.events.bounds();
      const again = await app.call('POST', '/pets', { key, body: newPet() });
      const { status, headers, body } = await finish();
      expect([status, body, headers.get('www-authenticate')]).toEqual([
        401,
        again.text,
        again.header('WWW-Authenticate') ?? '',
      ]);
      expect((await app.operator.storage.events.bounds()).last).toBe(last);
      expect(await app.operator.storage.webhooks.list(undefined, 9, { accountId: account.id })).toEqual([]);
    },
  );

  test('a webhook is not created in an account that is closed before the body arrives', async () => {
    const app = await started;
    const { account, key } = await keyOf(app);
    const finish = await begin(app, key, ['POST', '/webhooks', webhook]);
    await app.operator.accounts.close(account.id);
    await noticed(app, key, 401);
    expect((await finish()).status).toBe(401);
    expect(await app.operator.storage.webhooks.list(undefined, 9, { accountId: account.id })).toEqual([]);
  });

  test('a request gets 403 if its key loses the scope before the body arrives', async () => {
    const app = await started;
    const { key, keyId } = await keyOf(app);
    const finish = await begin(app, key, ['POST', '/pets', newPet()]);
    await app.operator.keys.setScopes(keyId, ['pets:read']);
    await noticed(app, key, 403);
    expect((await finish()).status).toBe(403);
  });

  test('a request is counted once, and succeeds if only other keys change before the body arrives', async () => {
    const app = await started;
    const { account, key } = await keyOf(app, 1);
    const finish = await begin(app, key, ['POST', '/pets', newPet()]);
    const { key: other } = await app.operator.keys.create(account.id, 'other', undefined, scopes);
    await noticed(app, other, 429);
    const { status, headers } = await finish();
    expect([status, headers.get('x-ratelimit-remaining')]).toEqual([201, '0']);
  });

  const slowUrl = (keyId: number) => ({ host: `slow${keyId}.example`, url: `https://slow${keyId}.example/` });

  test.each(['POST', 'PATCH'] as const)(
    'a webhook is not changed by a %s request whose key is revoked while the host of its URL is resolved',
    async (method) => {
      const app = await started;
      const { account, key, keyId } = await keyOf(app);
      const owner = await app.operator.keys.create(account.id, 'owner', undefined, scopes);
      const made = await app.call('POST', '/webhooks', { key: owner.key, body: webhook });
      const { id } = made.json as { readonly id: bigint };
      const { host, url } = slowUrl(keyId);
      const target = method === 'POST' ? '/webhooks' : `/webhooks/${id}`;
      const pending = app.call(method, target, { key, body: JSON.stringify({ url, types: ['pet.*'] }) });
      await until(() => resolving.has(host));
      await app.operator.keys.revoke(keyId);
      await noticed(app, key, 401);
      resolving.get(host)?.();
      const { status, text } = await pending;
      expect([status, text.includes('whsec_')]).toEqual([401, false]);
      const stored = await app.operator.storage.webhooks.list(undefined, 9, { accountId: account.id });
      expect(stored.map((one) => one.url)).toEqual(['https://shop.example/']);
    },
  );

  test('a webhook is not created if its key loses a scope that the event types require while the host is resolved', async () => {
    const app = await started;
    const { account, key, keyId } = await keyOf(app);
    const { host, url } = slowUrl(keyId);
    const body = JSON.stringify({ url, types: ['pet.*'] });
    const pending = app.call('POST', '/webhooks', { key, body });
    await until(() => resolving.has(host));
    await app.operator.keys.setScopes(keyId, ['pets:read', 'webhooks:write']);
    await noticed(app, key, 403);
    resolving.get(host)?.();
    expect((await pending).error.code).toBe('insufficient_scope');
    expect(await app.operator.storage.webhooks.list(undefined, 9, { accountId: account.id })).toEqual([]);
  });
});
