/** Webhooks of a sandbox, with a receiver on loopback that verifies deliveries with the Standard Webhooks library. */
import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import type { StoreEntry } from '../../sandbox/stores.ts';
import { answerOf } from '../support/call.ts';
import { type SandboxUser, startTestSandbox } from '../support/sandbox.ts';
import { until } from '../support/wait.ts';
import { response, startReceiver } from '../webhooks/receiver.ts';

const sandbox = await startTestSandbox();
afterEach(() => sandbox.steered('POST', '/reset'));
afterAll(() => sandbox[Symbol.asyncDispose]());

/** An account with ample limits, because tests poll the API. */
const newAccount = () => sandbox.account({ plan: 'enterprise' });

type Caller = Pick<SandboxUser, 'call'>;

interface Attempt {
  readonly status: bigint;
}

interface Received {
  readonly pet: string;
  readonly id: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Time of arrival according to the system clock, in Unix ms. */
  readonly at: number;
  /** Why the request was rejected. */
  readonly mistake: string | undefined;
}

const addPet = ({ call }: Caller, name: string) =>
  call('POST', '/pets', { body: `{"name":"${name}","categoryId":1}` });

/** Creates a webhook whose receiver responds with 400 to requests that it cannot verify. */
async function subscribe({ call }: Caller, scheme = 'http', host = '127.0.0.1') {
  const received: Received[] = [];
  let secret = '';
  const receiver = await startReceiver(
    (socket, request) => {
      const [head = '', body = ''] = request.split('\r\n\r\n');
      const lines = head.split('\r\n').slice(1);
      const headers = Object.fromEntries(lines.map((line) => line.toLowerCase().split(': ')));
      headers['webhook-signature'] = /^webhook-signature: (.*)$/im.exec(head)?.[1];
      const mistake = mistakeIn(secret, body, headers);
      const { id, data } = JSON.parse(body) as { id: number; data: { name: string } };
      received.push({ pet: data.name, id: `${id}`, body, headers, at: Date.now(), mistake });
      socket.write(response(mistake === undefined ? '204 No Content' : '400 Bad Request'));
    },
    { host: host.replace(/[[\]]/g, '') },
  );
  const body = JSON.stringify({ url: `${scheme}://${host}:${receiver.port}/`, types: ['pet.created'] });
  const made = await call('POST', '/webhooks', { body });
  const webhook = made.json as { readonly id: bigint; readonly secret: string };
  secret = webhook.secret;
  const deliveries = async () =>
    (await call('GET', `/webhooks/${webhook.id}/deliveries`)).json as {
      readonly status: string;
      readonly attempts: readonly Attempt[];
    }[];
  const pets = () => received.map(({ pet }) => pet);
  return {
    ...webhook,
    made,
    received,
    pets,
    deliveries,
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  };
}

function mistakeIn(secret: string, body: string, headers: Record<string, string>): string | undefined {
  try {
    new StandardWebhook(secret).verify(body, headers);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

const misbehave = (faults: string | string[], account?: number) =>
  sandbox.steered('POST', '/faults', { faults, ...(account !== undefined && { account }) });
const hits = async () => (await sandbox.steered<{ hits: number }[]>('GET', '/faults'))[0]?.hits;
const advance = (advanceSeconds: number) => sandbox.steered('POST', '/clock', { advanceSeconds });

describe('sandbox webhooks', () => {
  test.each(['127.0.0.1', 'localhost', '[::1]'])('on %s can receive events over http', async (host) => {
    const user = await newAccount();
    await using hook = await subscribe(user, 'http', host);
    await addPet(user, 'Ozzy');
    await until(() => hook.received.length === 1);
    expect(hook.received).toMatchObject([{ pet: 'Ozzy', mistake: undefined }]);
  });

  test('can have https URLs on loopback, but not on other private addresses', async () => {
    const user = await newAccount();
    await using hook = await subscribe(user, 'https');
    expect(hook.made.status).toBe(201);
    const inward = await user.call('POST', '/webhooks', { body: '{"url":"https://10.0.0.1/"}' });
    expect(inward.error.code).toBe('invalid_body');
  });

  test('in an isolated store receive only the events of that store', async () => {
    const { url, accounts } = await sandbox.steered<StoreEntry>('POST', '/stores');
    const key = accounts.at(-1)?.key ?? '';
    const inside: Caller = {
      call: (method, target, options) => answerOf(url, method, target, { key, ...options }),
    };
    const outside = await newAccount();
    await using hook = await subscribe(inside);
    await using beside = await subscribe(outside);
    await addPet(outside, 'Pepper');
    await until(() => beside.received.length === 1);
    await addPet(inside, 'Ozzy');
    await until(() => hook.received.length === 1);
    expect(hook.pets()).toEqual(['Ozzy']);
  });
});

describe('a webhook fault can cause', () => {
  test('duplicate messages', async () => {
    const user = await newAccount();
    await using hook = await subscribe(user);
    await misbehave('webhook=duplicate; times=1');
    await addPet(user, 'Ozzy');
    await until(async () => (await hook.deliveries())[0]?.status === 'succeeded');
    const [one, other] = hook.received;
    expect(hook.received).toHaveLength(2);
    expect(other).toEqual({ ...(one as Received), at: expect.any(Number) });
    expect(one?.mistake).toBeUndefined();
  });

  test('events that arrive out of order', async () => {
    const user = await newAccount();
    await using hook = await subscribe(user);
    await misbehave('webhook=out-of-order');
    for (const name of ['1', '2']) await addPet(user, name);
    await until(() => hook.received.length === 2);
    for (const name of ['3', '4']) await addPet(user, name);
    await until(() => hook.received.length === 4);
    expect(hook.pets()).toEqual(['2', '1', '4', '3']);
    expect(hook.received.some(({ mistake }) => mistake)).toBe(false);
  });

  test('delayed messages', async () => {
    const user = await newAccount();
    await using hook = await subscribe(user);
    await misbehave('webhook-delay=1s; times=1');
    const start = Date.now();
    for (const name of ['late', 'punctual']) await addPet(user, name);
    await until(() => hook.received.length === 2);
    const late = hook.received.find(({ pet }) => pet === 'late');
    expect((late?.at ?? 0) - start).toBeGreaterThanOrEqual(990);
  });

  test('invalid signatures and old timestamps, until a retry succeeds', async () => {
    const user = await newAccount();
    await using hook = await subscribe(user);
    await misbehave(['webhook=wrong-signature; times=1', 'webhook=old-timestamp; times=1']);
    await addPet(user, 'Ozzy');
    for (const [made, seconds] of [6, 331].entries()) {
      await until(async () => (await hook.deliveries())[0]?.attempts.length === made + 1);
      expect(hook.received).toHaveLength(made + 1);
      await advance(seconds);
    }
    await until(async () => (await hook.deliveries())[0]?.status === 'succeeded');
    expect((await hook.deliveries())[0]?.attempts.map(({ status }) => status)).toEqual([400n, 400n, 204n]);
    const [, old] = hook.received as [Received, Received];
    expect(hook.received.map(({ mistake }) => mistake)).toEqual([
      'No matching signature found',
      'Message timestamp too old',
      undefined,
    ]);
    const oldAt = Number(old.headers['webhook-timestamp']) * 1_000;
    expect(old.at - oldAt).toBeGreaterThan(300_000);
    const signature = new StandardWebhook(hook.secret).sign(`evt_${old.id}`, new Date(oldAt), old.body);
    expect(old.headers['webhook-signature']).toBe(signature);
  });
});

describe('webhook faults', () => {
  test("can be limited to one account, do not affect that account's API requests, and are counted", async () => {
    const [user, other] = [await newAccount(), await newAccount()];
    await using hook = await subscribe(user);
    await using beside = await subscribe(other);
    const faults = 'webhook=duplicate; rate=0.5; seed=3';
    await misbehave(faults, user.account);
    for (let at = 0; at < 8; at++) {
      expect((await addPet(other, `${at}`)).status).toBe(201);
      await until(
        async () => (await hook.deliveries()).filter(({ status }) => status === 'succeeded').length > at,
      );
    }
    await until(() => beside.received.length === 8);
    const duplicates = (await hits()) ?? 0;
    expect(duplicates).toBeWithin(1, 8);
    expect(hook.received).toHaveLength(8 + duplicates);
  });

  test('are rejected in the X-Sandbox header', async () => {
    const user = await newAccount();
    const answer = await user.call('GET', '/pets', { fault: 'webhook=duplicate' });
    expect(answer.error.message).toContain('Webhook faults can be set only with POST /sandbox/faults.');
  });
});

test('an attempt in flight is not retried when the clock is advanced', async () => {
  const user = await newAccount();
  await using hook = await subscribe(user);
  await misbehave('webhook=out-of-order; times=1');
  await addPet(user, 'held');
  await until(async () => (await hits()) === 1);
  await advance(3_600);
  await addPet(user, 'next');
  await until(async () => (await hook.deliveries()).every(({ status }) => status === 'succeeded'));
  expect(hook.pets()).toEqual(['next', 'held']);
});

test('a reset drops leased deliveries', async () => {
  const user = await newAccount();
  await using hook = await subscribe(user);
  await addPet(user, 'first');
  await until(async () => (await hook.deliveries())[0]?.status === 'succeeded');
  await misbehave('webhook-delay=30s');
  for (let pet = 0; pet < 20; pet++) await addPet(user, `${pet}`);
  await until(async () => (await hits()) === 4);
  await sandbox.steered('POST', '/reset');
  const later = await newAccount();
  await using fresh = await subscribe(later);
  await addPet(later, 'next');
  await until(() => fresh.received.length === 1);
  await until(async () => (await fresh.deliveries())[0]?.status === 'succeeded');
  expect(hook.pets()).toEqual(['first']);
});

test('a reset removes webhooks and their delayed messages', async () => {
  const user = await newAccount();
  await using hook = await subscribe(user);
  await misbehave('webhook=out-of-order');
  await addPet(user, 'held');
  await until(async () => (await hits()) === 1);
  await sandbox.steered('POST', '/reset');
  const later = await newAccount();
  expect((await later.call('GET', '/webhooks')).json).toEqual([]);
  await using fresh = await subscribe(later);
  for (const name of ['1', '2']) {
    await addPet(later, name);
    await until(() => fresh.pets().includes(name));
  }
  expect(fresh.pets()).toEqual(['1', '2']);
  expect(hook.received).toEqual([]);
});
