/** Sending events to webhooks after restarts, changes of the clock and of webhooks, with hung receivers, and with a low pace. */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Socket } from 'node:net';
import { isEmbedded } from '../../src/app/store.ts';
import { openSession } from '../storage/postgres-kit.ts';
import { type Buyer, buyerOf, clientOf } from '../support/orders.ts';
import { testServers } from '../support/servers.ts';
import { until } from '../support/wait.ts';
import { response, startReceiver } from '../webhooks/receiver.ts';
import {
  advance,
  answering,
  deliveriesOf,
  idsAt,
  type Place,
  placesOn,
  shown,
  subscribe,
} from '../webhooks/sending-kit.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());
const places = placesOn(servers);

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
