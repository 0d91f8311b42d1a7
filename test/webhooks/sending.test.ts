/**
 * Sending events to webhooks: with real receivers on loopback, with both kinds of store, and from two instances on
 * PostgreSQL.
 */
import { afterAll, beforeAll, describe, expect, setSystemTime, test } from 'bun:test';
import type { Socket } from 'node:net';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { DeliveredEvent } from '../../src/contract/events.ts';
import { parseJson } from '../../src/contract/json.ts';
import type { TestApp } from '../support/app.ts';
import { type Buyer, buyerOf, clientOf } from '../support/orders.ts';
import { testServers } from '../support/servers.ts';
import { until } from '../support/wait.ts';
import { response, startReceiver } from './receiver.ts';
import {
  advance,
  answering,
  deliveriesOf,
  idsAt,
  messageOf,
  type Place,
  placesOn,
  type Shown,
  type ShownDelivery,
  shown,
  subscribe,
} from './sending-kit.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());
const places = placesOn(servers);

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

const idOf = (body: string) => Number(/^\{"id":(\d+)/.exec(body)?.[1]);
const byId = (one: string, other: string) => idOf(one) - idOf(other);
