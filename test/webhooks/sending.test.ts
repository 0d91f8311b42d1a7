/**
 * Sending events to webhooks: with real receivers on loopback, with both kinds of store, and from two instances on
 * PostgreSQL.
 */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, setSystemTime, test } from 'bun:test';
import type { Socket } from 'node:net';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { isEmbedded } from '../../src/app/store.ts';
import { DeliveredEvent } from '../../src/contract/events.ts';
import { parseJson } from '../../src/contract/json.ts';
import { openSession } from '../storage/postgres-kit.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { patientSettings } from '../support/cluster.ts';
import { type Buyer, buyerOf, clientOf } from '../support/orders.ts';
import { testServers } from '../support/servers.ts';
import { until } from '../support/wait.ts';
import { type Receiver, response, startReceiver } from './receiver.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

interface Place extends AsyncDisposable {
  readonly apps: readonly TestApp[];
  readonly app: TestApp;
  /** Another instance, if the store can have several. */
  readonly beside: TestApp;
}

type Settings = Readonly<Record<string, string>>;

/** Starts an instance that checks often for due deliveries, because tests wait for these checks. */
const startInstance = (settings: Settings) =>
  startTestApp({ WEBHOOKS: 'on', ...settings }, undefined, undefined, { sendEveryMs: 100 });

async function onSqlite(more: Settings = {}): Promise<Place> {
  const app = await startInstance(more);
  return { apps: [app], app, beside: app, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() };
}

async function onPostgres(more: Settings = {}, ofBeside: Settings = {}): Promise<Place> {
  await using made = new AsyncDisposableStack();
  if (servers === undefined) throw new Error('There are no servers.');
  const schema = made.use(await servers.makeSchema());
  const redis = { REDIS_URL: servers.redisUrl, REDIS_PREFIX: servers.makePrefix(), ...patientSettings };
  const settings = { DATABASE_URL: schema.url, ...redis, ...more };
  const app = made.use(await startInstance(settings));
  const beside = made.use(await startInstance({ ...settings, ...ofBeside }));
  const kept = made.move();
  return { apps: [app, beside], app, beside, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

const places: [string, typeof onPostgres][] = [
  ['SQLite', onSqlite],
  ...(servers === undefined ? [] : [['PostgreSQL', onPostgres] as [string, typeof onPostgres]]),
];

interface Shown {
  readonly id: bigint;
  readonly secret: string;
  readonly enabled: boolean;
  readonly disabledReason?: string;
}

interface ShownDelivery {
  readonly id: bigint;
  readonly eventId: bigint;
  readonly status: string;
  readonly attempts: readonly { readonly status?: bigint; readonly error?: string; readonly at: string }[];
  readonly nextAttemptAt?: string;
}

const answering = (status: string, ...headers: string[]) =>
  startReceiver((socket) => socket.write(response(status, '', ...headers)));

async function subscribe(owner: Buyer, { port }: Receiver, members: object = {}): Promise<Shown> {
  const body = JSON.stringify({ url: `http://127.0.0.1:${port}/hook`, types: ['pet.created'], ...members });
  return (await owner.call('POST', '/webhooks', { body })).json as Shown;
}

const shown = async (owner: Buyer, { id }: Shown) =>
  (await owner.call('GET', `/webhooks/${id}`)).json as Shown;

const deliveriesOf = async (owner: Buyer, { id }: Shown, status?: string) =>
  (await owner.call('GET', `/webhooks/${id}/deliveries?limit=100${status ? `&status=${status}` : ''}`))
    .json as ShownDelivery[];

/** Parses a request for the Standard Webhooks library. */
function messageOf(request: string) {
  const [head = '', body = ''] = request.split('\r\n\r\n');
  const lines = head.split('\r\n').slice(1);
  const fields = lines.map((line) => [line.split(': ')[0]?.toLowerCase(), line.split(': ')[1] ?? '']);
  return { headers: Object.fromEntries(fields) as Record<string, string>, body };
}

const idsAt = ({ requests }: Receiver) =>
  new Set(requests.map((request) => messageOf(request).headers['webhook-id']));

/** Advances the clocks of all instances. */
function advance(apps: readonly TestApp[], seconds: number): void {
  for (const { clock } of apps) clock.advance(seconds);
}

/** Sets the system time during verification, because the Standard Webhooks library compares timestamps with it. */
function verifies(secret: string, request: string, { clock }: TestApp): boolean {
  const { headers, body } = messageOf(request);
  setSystemTime(clock.now());
  try {
    new StandardWebhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  } finally {
    setSystemTime();
  }
}

// Accounts share the animals, so every webhook receives the events of all tests in its store.
describe.each(places)('on %s', (_name, start) => {
  let shared: Place;
  beforeAll(async () => {
    shared = await start();
  });
  afterAll(() => shared[Symbol.asyncDispose]());

  test('all events of the selected types, and no others, are sent once, with the same bodies as in the feed', async () => {
    const { app, beside } = shared;
    const [owner, other] = [await buyerOf(app), await buyerOf(beside)];
    await using receiver = await answering('204 No Content');
    const webhook = await subscribe(owner, receiver);
    const changes = Array.from({ length: 30 }, (_, at) => (at % 2 ? owner : other).order());
    await Promise.all(changes);
    await until(async () => (await deliveriesOf(owner, webhook, 'succeeded')).length === 30);
    const sent = receiver.requests.map(messageOf);
    expect(sent).toHaveLength(30);
    const bodies = sent.map(({ body }) => body).toSorted(byId);
    const after = idOf(bodies[0] ?? '') - 1;
    const feed = (await owner.call('GET', `/events?type=pet.created&limit=100&after=${after}`)).text;
    expect(`[${bodies}]`).toBe(feed);
    for (const { headers, body } of sent) expect(headers['webhook-id']).toBe(`evt_${idOf(body)}`);
    expect(sent[0]?.headers['user-agent']).toMatch(/^AnimalStore\/\d/);
  });

  test('a 410 disables the webhook, which then gets no events', async () => {
    const { app } = shared;
    const [owner, stranger] = [await buyerOf(app), await buyerOf(app)];
    await using gone = await answering('410 Gone');
    await using witness = await answering('200 OK');
    const webhook = await subscribe(owner, gone);
    await subscribe(owner, witness, { types: ['webhook.*'] });
    await owner.addPet();
    await until(() => witness.requests.length === 1);
    const reason = 'The receiver responded with 410.';
    expect(await shown(owner, webhook)).toMatchObject({ enabled: false, disabledReason: reason });
    expect(JSON.parse(messageOf(witness.requests[0] ?? '').body).data).toEqual({
      id: Number(webhook.id),
      reason,
    });
    expect((await stranger.call('GET', '/events?type=webhook.disabled')).json).toEqual([]);
    const sent = gone.requests.length;
    await owner.addPet();
    await using later = await answering('200 OK');
    await subscribe(owner, later);
    await owner.addPet();
    await until(() => later.requests.length === 1);
    expect(gone.requests).toHaveLength(sent);
  });

  test('a 410 of a former URL does not disable the webhook, and the delivery is sent to the current URL', async () => {
    const { app, beside } = shared;
    const owner = await buyerOf(app);
    let held: Socket | undefined;
    await using former = await startReceiver((socket) => {
      held = socket;
    });
    await using current = await answering('200 OK');
    const webhook = await subscribe(owner, former);
    await owner.addPet();
    await until(() => held !== undefined);
    const body = JSON.stringify({ url: `http://127.0.0.1:${current.port}/` });
    expect(
      (await clientOf(beside, owner.key).call('PATCH', `/webhooks/${webhook.id}`, { body })).status,
    ).toBe(200);
    held?.write(response('410 Gone'));
    await until(() => current.requests.length === 1);
    await until(async () => (await deliveriesOf(owner, webhook, 'succeeded')).length === 1);
    expect(idsAt(current)).toEqual(idsAt(former));
    for (let at = 0; at < 5; at++) await owner.addPet();
    await until(() => current.requests.length === 6);
    expect(await shown(owner, webhook)).toMatchObject({ enabled: true });
    const [, , , , , moved] = await deliveriesOf(owner, webhook);
    expect(moved?.attempts.map(({ status }) => status)).toEqual([410n, 200n]);
  });

  test('a receiver gets at most four requests at a time, and does not delay other receivers', async () => {
    const { app } = shared;
    const owner = await buyerOf(app);
    await using hanging = await startReceiver(() => undefined);
    await using working = await answering('200 OK');
    await subscribe(owner, hanging);
    await subscribe(owner, working);
    for (let at = 0; at < 20; at++) await owner.addPet();
    await until(() => idsAt(working).size === 20);
    expect(hanging.requests).toHaveLength(4);
  });

  test('a re-enabled webhook receives only events that occur after it was re-enabled', async () => {
    const { app } = shared;
    const owner = await buyerOf(app);
    await using receiver = await answering('200 OK');
    const { id } = await subscribe(owner, receiver);
    const change = (members: object) =>
      owner.call('PATCH', `/webhooks/${id}`, { body: JSON.stringify(members) });
    await change({ enabled: false });
    const missed = await owner.addPet();
    await change({ enabled: true });
    const wanted = await owner.addPet();
    await until(() => receiver.requests.length > 0);
    expect(receiver.requests.map((request) => JSON.parse(messageOf(request).body).data.id)).toEqual([
      Number(wanted),
    ]);
    expect(missed).not.toBe(wanted);
  });

  test('one event, or all events after an id, can be redelivered as new deliveries', async () => {
    const { app } = shared;
    const owner = await buyerOf(app);
    await using receiver = await answering('200 OK');
    const webhook = await subscribe(owner, receiver);
    for (let at = 0; at < 3; at++) await owner.addPet();
    const succeeded = async (count: number) =>
      (await deliveriesOf(owner, webhook, 'succeeded')).length === count;
    await until(() => succeeded(3));
    const [, second] = await deliveriesOf(owner, webhook);
    const again = await owner.call('POST', `/webhooks/${webhook.id}/deliveries/${second?.id}/redeliver`);
    expect([again.status, again.json]).toMatchObject([202, { eventId: second?.eventId, attempts: [] }]);
    expect((again.json as ShownDelivery).id).not.toBe(second?.id as bigint);
    await until(() => succeeded(4));
    const body = JSON.stringify({ after: Number(second?.eventId) - 1 });
    expect((await owner.call('POST', `/webhooks/${webhook.id}/redeliver`, { body })).status).toBe(202);
    await until(() => succeeded(6));
    expect(idsAt(receiver).size).toBe(3);
    expect(receiver.requests).toHaveLength(6);
  });

  test('a test event is sent immediately, and the API response contains the result', async () => {
    const { app } = shared;
    const owner = await buyerOf(app);
    await using receiver = await startReceiver((socket) =>
      socket.write(response('418 Teapot', 'No coffee.')),
    );
    const { id, secret } = await subscribe(owner, receiver);
    const tested = (await owner.call('POST', `/webhooks/${id}/test`)).json;
    expect(tested).toEqual({ status: 418n, milliseconds: expect.anything(), body: 'No coffee.' });
    const request = receiver.requests[0] ?? '';
    expect(verifies(secret, request, app)).toBe(true);
    expect(DeliveredEvent.safeParse(parseJson(messageOf(request).body))).toMatchObject({
      success: true,
      data: { id: 0n, type: 'webhook.test', data: { id } },
    });
    await owner.call('POST', `/webhooks/${id}/test`);
    const ids = [...idsAt(receiver)];
    expect(ids.map((testId) => testId?.replace(/_[0-9a-f]{32}$/, '_…'))).toEqual(Array(2).fill('evt_test_…'));
    await owner.call('PATCH', `/webhooks/${id}`, { body: '{"url":"http://127.0.0.1:1/"}' });
    expect((await owner.call('POST', `/webhooks/${id}/test`)).json).toMatchObject({
      error: expect.stringContaining('ECONNREFUSED'),
    });
  });

  test('an account can have four test events in flight, and others fail without a request', async () => {
    const { app } = shared;
    const [owner, other] = [await buyerOf(app), await buyerOf(app)];
    await using hanging = await startReceiver(() => undefined);
    const webhooks = [await subscribe(owner, hanging), await subscribe(owner, hanging)];
    const foreign = await subscribe(other, hanging);
    const sendTest = (of: Buyer, { id }: { id: bigint }) => of.call('POST', `/webhooks/${id}/test`);
    const tests = [...webhooks, ...webhooks].map((webhook) => sendTest(owner, webhook));
    await until(() => hanging.requests.length === 4);
    const { status, json } = await sendTest(owner, webhooks[0] as Shown);
    expect([status, json]).toEqual([
      200,
      { milliseconds: 0n, error: 'Too many other tests are in progress. Try again when they have ended.' },
    ]);
    tests.push(sendTest(other, foreign));
    await until(() => hanging.requests.length === 5);
    await hanging[Symbol.asyncDispose]();
    for (const test of tests) expect((await test).status).toBe(200);
    expect((await sendTest(owner, webhooks[0] as Shown)).json).toMatchObject({
      error: expect.stringContaining('ECONNREFUSED'),
    });
  });

  test('events wait while no active key of the account may read them, and are sent once the account has such a key again', async () => {
    const { app, beside } = shared;
    const [owner, witness] = [await buyerOf(app), await buyerOf(app)];
    await using receiver = await answering('200 OK');
    await using others = await answering('200 OK');
    const webhook = await subscribe(owner, receiver);
    await subscribe(witness, others);
    await owner.addPet();
    await until(() => receiver.requests.length === 1 && others.requests.length === 1);
    const { keys } = app.operator;
    await keys.revoke(owner.keyId);
    for (let at = 0; at < 3; at++) await witness.addPet();
    await until(() => others.requests.length === 4);
    expect(receiver.requests).toHaveLength(1);
    await keys.create(owner.account.id, 'too few scopes', undefined, ['pets:read', 'webhooks:write']);
    const enough = await keys.create(owner.account.id, 'enough scopes', undefined, [
      'pets:read',
      'events:read',
    ]);
    await until(() => receiver.requests.length === 4);
    await keys.revoke(enough.id);
    await clientOf(beside, witness.key).addPet();
    await until(() => others.requests.length === 5);
    expect([receiver.requests.length, idsAt(receiver).size]).toEqual([4, 4]);
    expect(await app.operator.storage.webhooks.find(webhook.id)).toMatchObject({ enabled: true });
  });

  test('deliveries are signed, with both secrets for 24 hours after a rotation', async () => {
    const { app } = shared;
    const owner = await buyerOf(app);
    await using receiver = await answering('200 OK');
    const { id, secret } = await subscribe(owner, receiver);
    const verified = async (secrets: readonly string[]) => {
      const { length } = receiver.requests;
      await owner.addPet();
      await until(() => receiver.requests.length > length);
      return secrets.map((one) => verifies(one, receiver.requests.at(-1) ?? '', app));
    };
    expect(await verified([secret])).toEqual([true]);
    const rotated = (await owner.call('POST', `/webhooks/${id}/rotate-secret`)).json as Shown;
    expect(await verified([secret, rotated.secret])).toEqual([true, true]);
    advance(shared.apps, 86_401);
    expect(await verified([secret, rotated.secret])).toEqual([false, true]);
  });

  test('a 410 response to a request sent before the webhook was enabled again does not disable it', async () => {
    const { app } = shared;
    const owner = await buyerOf(app);
    const held: Socket[] = [];
    let isRepaired = false;
    await using receiver = await startReceiver((socket) =>
      isRepaired ? socket.write(response('200 OK')) : held.push(socket),
    );
    const webhook = await subscribe(owner, receiver);
    await owner.addPet();
    await until(() => held.length === 1);
    const enable = async (enabled: boolean) => {
      const body = JSON.stringify({ enabled });
      return (await owner.call('PATCH', `/webhooks/${webhook.id}`, { body })).status;
    };
    expect(await enable(false)).toBe(200);
    isRepaired = true;
    advance(shared.apps, 1);
    expect(await enable(true)).toBe(200);
    held[0]?.write(response('410 Gone'));
    await owner.addPet();
    // The delivery is sent again, and the later event is sent.
    await until(async () => (await deliveriesOf(owner, webhook, 'succeeded')).length === 2);
    expect(await shown(owner, webhook)).toMatchObject({ enabled: true });
  });

  test('closing an account disables its webhooks, and starts none of the deliveries that are due now or for a retry', async () => {
    const { app } = shared;
    const [owner, witness] = [await buyerOf(app), await buyerOf(app)];
    let answers: (() => void)[] = [];
    await using receiver = await startReceiver((socket) => {
      answers.push(() => socket.write(response('503 Unavailable')));
    });
    await using others = await answering('200 OK');
    const webhook = await subscribe(owner, receiver);
    await subscribe(witness, others);
    await Promise.all(Array.from({ length: 20 }, () => owner.addPet()));
    await until(() => receiver.requests.length === 4);
    await app.operator.accounts.close(owner.account.id);
    await witness.addPet();
    await until(() => others.requests.length === 21);
    const { storage } = app.operator;
    const leased = async () =>
      (await storage.deliveries.list(undefined, 100, { webhookId: webhook.id })).filter(
        ({ leasedUntil }) => leasedUntil !== undefined,
      );
    for (const answer of answers) answer();
    answers = [];
    await until(async () => (await leased()).length === 0);
    advance(shared.apps, 10);
    await witness.addPet();
    await until(() => others.requests.length === 22);
    expect(receiver.requests).toHaveLength(4);
    expect(await storage.webhooks.find(webhook.id)).toMatchObject({
      enabled: false,
      disabledReason: 'account_closed',
    });
  });
});

// Each instance has its own places.
describe.each(places)('with a single sending instance on %s', (_name, start) => {
  let shared: Place;
  beforeAll(async () => {
    shared = await start({}, { WEBHOOKS: 'off' });
  });
  afterAll(() => shared[Symbol.asyncDispose]());

  test('after a change of the URL, no further delivery is sent to the former URL', async () => {
    const { app } = shared;
    const owner = await buyerOf(app);
    let held: Socket[] | undefined;
    const answer = (socket: Socket) => socket.write(response('200 OK'));
    await using former = await startReceiver((socket) => held?.push(socket) ?? answer(socket));
    await using current = await answering('200 OK');
    const { id } = await subscribe(owner, former);
    await owner.addPet();
    await until(() => former.requests.length === 1);
    held = [];
    await Promise.all(Array.from({ length: 20 }, () => owner.addPet()));
    await until(() => former.requests.length === 5);
    const body = JSON.stringify({ url: `http://127.0.0.1:${current.port}/` });
    expect((await owner.call('PATCH', `/webhooks/${id}`, { body })).status).toBe(200);
    for (const socket of held) answer(socket);
    await until(() => current.requests.length === 16);
    expect(former.requests).toHaveLength(5);
  });

  test('after a change of the types, no pending delivery of another type is sent', async () => {
    const { app } = shared;
    const owner = await buyerOf(app);
    let held: Socket[] | undefined;
    const answer = (socket: Socket) => socket.write(response('200 OK'));
    await using receiver = await startReceiver((socket) => held?.push(socket) ?? answer(socket));
    const webhook = await subscribe(owner, receiver);
    await owner.addPet();
    await until(() => receiver.requests.length === 1);
    held = [];
    await Promise.all(Array.from({ length: 20 }, () => owner.addPet()));
    await until(() => receiver.requests.length === 5);
    const body = JSON.stringify({ types: ['pet.deleted'] });
    expect((await owner.call('PATCH', `/webhooks/${webhook.id}`, { body })).status).toBe(200);
    for (const socket of held) answer(socket);
    held = undefined;
    await until(async () => (await deliveriesOf(owner, webhook, 'failed')).length === 16);
    expect([receiver.requests.length, (await deliveriesOf(owner, webhook, 'succeeded')).length]).toEqual([
      5, 5,
    ]);
  });

  test('the hung receivers of many accounts leave room for webhooks of other accounts, known or new', async () => {
    const { app } = shared;
    await using known = await answering('200 OK');
    await using unknown = await answering('200 OK');
    await using hung = await startReceiver(() => undefined);
    const [healthy, other] = [await buyerOf(app), await buyerOf(app)];
    await subscribe(healthy, known);
    await other.addPet();
    await until(() => known.requests.length === 1);
    for (let accounts = 0; accounts < 13; accounts++) {
      const owner = await buyerOf(app);
      await Promise.all(Array.from({ length: 8 }, () => subscribe(owner, hung)));
    }
    for (let at = 0; at < 4; at++) await other.addPet();
    await until(() => hung.requests.length >= 13 * 8);
    await subscribe(other, unknown);
    for (let at = 0; at < 10; at++) await other.addPet();
    await until(() => known.requests.length === 15 && unknown.requests.length === 10);
  });
});

// These tests restart the service, or advance the clock before each check of the dispatcher.
describe.each(places)('after restarts and changes of the clock on %s', (_name, start) => {
  let shared: Place;
  beforeAll(async () => {
    shared = await start();
  });
  afterAll(() => shared[Symbol.asyncDispose]());

  test('a failed attempt is retried with the same id after the scheduled delays', async () => {
    const { app } = shared;
    const owner = await buyerOf(app);
    await using receiver = await answering('307 Temporary Redirect', 'Location: http://127.0.0.1:9/');
    const webhook = await subscribe(owner, receiver);
    await owner.addPet();
    const seconds = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
    for (const [made, delay] of seconds.entries()) {
      const attempted = async () => (await deliveriesOf(owner, webhook))[0]?.attempts.length === made + 1;
      await until(attempted);
      const [delivery] = await deliveriesOf(owner, webhook, 'pending');
      const due = (Date.parse(delivery?.nextAttemptAt ?? '') - app.clock.now()) / 1_000;
      expect(due / delay).toBeWithin(0.89, 1.11);
      expect(delivery?.attempts.at(-1)).toMatchObject({ status: 307n, error: 'Redirects are not followed.' });
      advance(shared.apps, due);
    }
    await until(async () => !(await shown(owner, webhook)).enabled);
    expect((await shown(owner, webhook)).disabledReason).toStartWith(
      'All attempts to send a delivery failed',
    );
    await until(async () => (await deliveriesOf(owner, webhook, 'failed'))[0]?.attempts.length === 10);
    expect(idsAt(receiver).size).toBe(1);
    expect(receiver.requests).toHaveLength(10);
    const disabled = (await owner.call('GET', '/events?type=webhook.disabled')).json as { data: object }[];
    expect(disabled.map(({ data }) => data)).toEqual([
      { id: webhook.id, reason: (await shown(owner, webhook)).disabledReason },
    ]);
  });

  test('a retry scheduled while the clock was 25 hours ahead is made once the clock is correct again', async () => {
    const { app } = shared;
    const step = (seconds: number) => {
      for (const { clock } of shared.apps) clock.step(seconds);
    };
    const owner = await buyerOf(app);
    let status = '500 Internal Server Error';
    await using receiver = await startReceiver((socket) => socket.write(response(status, '')));
    const webhook = await subscribe(owner, receiver);
    step(25 * 3_600);
    await owner.addPet();
    await until(async () => (await deliveriesOf(owner, webhook))[0]?.attempts.length === 1);
    status = '204 No Content';
    step(-25 * 3_600);
    await until(async () => (await deliveriesOf(owner, webhook))[0]?.status === 'succeeded');
    expect(receiver.requests).toHaveLength(2);
  });

  test('a pending delivery ends without another attempt, even at a new URL, once the webhook no longer selects its event type', async () => {
    const { app, beside } = shared;
    const owner = await buyerOf(app);
    const scopes = ['pets:read', 'events:read', 'webhooks:write'] as const;
    const { key } = await app.operator.keys.create(owner.account.id, 'no orders', undefined, scopes);
    const other = clientOf(beside, key);
    await using former = await answering('500 Internal Server Error');
    await using current = await answering('200 OK');
    const webhook = await subscribe(owner, former, { types: ['order.placed', 'pet.created'] });
    await owner.order();
    const attempts = async () => (await deliveriesOf(owner, webhook)).map((one) => one.attempts.length);
    await until(async () => `${await attempts()}` === '1,1');
    const change = (by: Pick<Buyer, 'call'>, members: object) =>
      by.call('PATCH', `/webhooks/${webhook.id}`, { body: JSON.stringify(members) });
    expect((await change(owner, { types: ['pet.created'] })).status).toBe(200);
    expect((await change(other, { url: `http://127.0.0.1:${current.port}/` })).status).toBe(200);
    advance(shared.apps, 6);
    await until(async () => (await deliveriesOf(owner, webhook, 'pending')).length === 0);
    const [order, pet] = await deliveriesOf(owner, webhook);
    expect([order?.status, order?.attempts.at(-1)?.error]).toEqual([
      'failed',
      'The webhook no longer selects events of this type.',
    ]);
    expect(pet?.status).toBe('succeeded');
    expect([former.requests.length, current.requests.length]).toEqual([2, 1]);
    expect(await shown(owner, webhook)).toMatchObject({ enabled: true });
  });

  test('webhooks from an older version, whose accounts have no stored pace, get their events after a restart', async () => {
    const { app } = shared;
    const owner = await buyerOf(app);
    await using receiver = await answering('200 OK');
    await subscribe(owner, receiver);
    const { databaseUrl } = app.config;
    const remove = 'DELETE FROM webhook_paces';
    if (isEmbedded(databaseUrl)) {
      using database = new Database(databaseUrl.replace('sqlite:', ''));
      database.run('PRAGMA busy_timeout = 10000');
      database.run(remove);
    } else {
      await using session = openSession(databaseUrl);
      await session.unsafe(remove);
    }
    await owner.addPet();
    for (const each of shared.apps) await each.restart();
    await until(() => receiver.requests.length === 1);
  });

  test('a service releases its deliveries at shutdown, and sends them after a restart', async () => {
    const { app } = shared;
    const owner = await buyerOf(app);
    let hangs = true;
    await using receiver = await startReceiver((socket) => hangs || socket.write(response('200 OK')));
    const webhook = await subscribe(owner, receiver);
    await owner.addPet();
    await until(() => receiver.requests.length === 1);
    hangs = false;
    for (const each of shared.apps) await each.restart();
    // On a slow machine, the request may reach its own timeout first, and is repeated. The lease has not ended by then.
    advance(shared.apps, 10);
    await until(async () => (await deliveriesOf(owner, webhook, 'succeeded')).length === 1);
    expect(idsAt(receiver).size).toBe(1);
    const attempts = (await deliveriesOf(owner, webhook))[0]?.attempts ?? [];
    expect(attempts.filter(({ error }) => error === undefined || error.includes('aborted'))).toHaveLength(1);
  });
});

describe.each(places)('with a low pace on %s', (_name, start) => {
  test('an account gets no more deliveries than its pace allows, however often events are sent again', async () => {
    await using place = await start({ WEBHOOK_DELIVERIES_PER_SECOND: '20' });
    const { app } = place;
    const [owner, witness] = [await buyerOf(app), await buyerOf(app)];
    await using receiver = await answering('200 OK');
    await using others = await answering('200 OK');
    const webhooks = [await subscribe(owner, receiver), await subscribe(owner, receiver)];
    await subscribe(witness, others);
    for (let at = 0; at < 15; at++) await owner.addPet();
    await until(() => receiver.requests.length === 20 && others.requests.length === 15);
    // A delivery is pending, and not sent again, until its outcome is stored.
    await until(async () => {
      const stored = await Promise.all(webhooks.map((webhook) => deliveriesOf(owner, webhook, 'succeeded')));
      return stored.flat().length === 20;
    });
    const again = async () => {
      const body = '{"after":0}';
      const calls = webhooks.map(({ id }) => owner.call('POST', `/webhooks/${id}/redeliver`, { body }));
      return (await Promise.all(calls)).map(({ status, text }) =>
        status === 202 ? 202 : JSON.parse(text).code,
      );
    };
    expect(await again()).toEqual([202, 202]);
    for (let at = 0; at < 2; at++) expect(await again()).toEqual(Array(2).fill('redelivery_in_progress'));
    let expected = 20;
    for (let tenth = 0; tenth < 6; tenth++) {
      advance(place.apps, 0.1);
      expected += 2;
      await until(() => receiver.requests.length >= expected);
      expect(receiver.requests.length).toBe(expected);
    }
    // Less than a lease, which may not have ended yet.
    advance(place.apps, 30);
    // Of the 30 events, 20 were sent before the requests, and 10 were still pending.
    await until(() => receiver.requests.length === 50);
    for (const webhook of webhooks)
      await until(async () => (await deliveriesOf(owner, webhook, 'pending')).length === 0);
  });
});

const idOf = (body: string) => Number(/^\{"id":(\d+)/.exec(body)?.[1]);
const byId = (one: string, other: string) => idOf(one) - idOf(other);
