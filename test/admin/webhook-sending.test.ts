/** Deliveries that operators send to webhooks: test events and redelivered events. */
import { afterAll, expect, test } from 'bun:test';
import { callAdmin } from '../support/admin.ts';
import { openDesk } from '../support/admin-answers.ts';
import { type Buyer, buyerOf } from '../support/orders.ts';
import { until } from '../support/wait.ts';
import { type Receiver, response, startReceiver } from '../webhooks/receiver.ts';

const desk = await openDesk({ WEBHOOKS: 'on' });
const { app, ask, done } = desk;
afterAll(() => desk[Symbol.asyncDispose]());

interface Entry {
  readonly operation: string;
  readonly object: string;
  readonly before: object | null;
  readonly after: object;
}

interface ShownDelivery {
  readonly id: number;
  readonly eventId: number;
  readonly status: string;
}

const answering = (status: string, body = '') =>
  startReceiver((socket) => socket.write(response(status, body)));

async function subscribe({ call }: Buyer, { port }: Receiver) {
  const body = JSON.stringify({ url: `http://127.0.0.1:${port}/hook`, types: ['pet.created'] });
  return JSON.parse((await call('POST', '/webhooks', { body })).text) as { id: number; secret: string };
}

const deliveriesOf = (id: number) => done<ShownDelivery[]>('GET', `/webhooks/${id}/deliveries?limit=100`);
const succeeded = async (id: number, count: number) => {
  const all = await deliveriesOf(id);
  return all.filter(({ status }) => status === 'succeeded').length === count;
};
const latestEntries = (id: number) => done<Entry[]>('GET', `/audit?object=webhook:${id}`);
const idsAt = ({ requests }: Receiver) =>
  requests.map((request) => /^webhook-id: (.*)\r$/im.exec(request)?.[1]);

test('the result of a test event does not include the response body, and the test is recorded', async () => {
  const owner = await buyerOf(app);
  await using receiver = await answering('418 Teapot', 'the address of a customer');
  const { id, secret } = await subscribe(owner, receiver);
  const tested = await ask('POST', `/webhooks/${id}/test`);
  expect(tested.body).toEqual({ status: 418, milliseconds: expect.any(Number) });
  expect(receiver.requests).toHaveLength(1);
  expect(receiver.requests[0]).toContain('"webhook.test"');
  const url = `http://127.0.0.1:${receiver.port}/hook`;
  expect(await latestEntries(id)).toMatchObject([
    { operation: 'testAccountWebhook', object: `webhook:${id}`, before: null, after: { url } },
  ]);
  const audited = await ask('GET', `/audit?account=${owner.account.id}`);
  for (const { text } of [tested, audited]) {
    expect(text).not.toContain('customer');
    expect(text).not.toContain(secret);
  }
});

test('sending a test event that cannot be delivered returns the reason, even for a disabled webhook', async () => {
  const owner = await buyerOf(app);
  const receiver = await answering('200 OK');
  const { id } = await subscribe(owner, receiver);
  await receiver[Symbol.asyncDispose]();
  await done('POST', `/webhooks/${id}/disable`, { reason: 'Overloaded.' });
  expect(await done<object>('POST', `/webhooks/${id}/test`)).toEqual({
    milliseconds: expect.any(Number),
    error: expect.stringContaining('ECONNREFUSED'),
  });
});

test('events after an id are redelivered only once per Idempotency-Key', async () => {
  const owner = await buyerOf(app);
  await using receiver = await answering('200 OK');
  const { id, secret } = await subscribe(owner, receiver);
  for (let pet = 0; pet < 3; pet++) await owner.addPet();
  await until(() => succeeded(id, 3));
  const [last, second] = await deliveriesOf(id);
  const body = { after: (second?.eventId ?? 0) - 1 };
  const headers = { 'Idempotency-Key': `a-key-of-this-request-alone-${id}-0123456789` };
  const send = () =>
    callAdmin(app, 'POST', `/webhooks/${id}/redeliver`, { token: desk.operator.token, body, headers });
  const first = await send();
  expect([first.status, first.body]).toMatchObject([202, { id, accountName: 'buyer' }]);
  expect(first.text).not.toContain(secret);
  await until(() => succeeded(id, 5));
  expect(await send()).toMatchObject({ status: 202, text: first.text });
  // A second redelivery would have arrived before this event.
  await owner.addPet();
  await until(() => succeeded(id, 6));
  const again = [second, last].map((delivery) => `evt_${delivery?.eventId}`);
  expect(idsAt(receiver).slice(3, 5).toSorted()).toEqual(again.toSorted());
  expect(await latestEntries(id)).toMatchObject([
    { operation: 'redeliverAccountEvents', after: { id, position: body.after } },
  ]);
});

test('redelivering an event creates a new delivery, and is recorded', async () => {
  const owner = await buyerOf(app);
  await using receiver = await answering('200 OK');
  const { id } = await subscribe(owner, receiver);
  await owner.addPet();
  await until(() => succeeded(id, 1));
  const [delivery] = await deliveriesOf(id);
  const target = `/webhooks/${id}/deliveries/${delivery?.id}/redeliver`;
  const made = await done<ShownDelivery>('POST', target);
  expect(made).toMatchObject({ eventId: delivery?.eventId, status: 'pending' });
  expect(made.id).toBeGreaterThan(delivery?.id ?? 0);
  await until(() => succeeded(id, 2));
  expect(new Set(idsAt(receiver)).size).toBe(1);
  expect(await latestEntries(id)).toMatchObject([
    { operation: 'redeliverAccountDelivery', before: null, after: { id: made.id, status: 'pending' } },
  ]);
});

test('unknown webhooks, deliveries of other webhooks and expired events are rejected without an audit entry', async () => {
  const owner = await buyerOf(app);
  await using receiver = await answering('200 OK');
  const [one, other] = [await subscribe(owner, receiver), await subscribe(owner, receiver)];
  await owner.addPet();
  await until(async () => (await succeeded(one.id, 1)) && (await succeeded(other.id, 1)));
  const [foreign] = await deliveriesOf(other.id);
  const code = async (target: string, body?: object) => (await ask('POST', target, body)).code;
  expect([
    await code('/webhooks/9999/test'),
    await code('/webhooks/9999/redeliver', { after: 0 }),
    await code('/webhooks/9999/deliveries/1/redeliver'),
    await code(`/webhooks/${one.id}/deliveries/${foreign?.id}/redeliver`),
    await code(`/webhooks/${one.id}/redeliver`, {}),
  ]).toEqual([
    ...['webhook_not_found', 'webhook_not_found', 'webhook_not_found'],
    ...['delivery_not_found', 'invalid_body'],
  ]);
  const { clock, operator } = app;
  const last = (await operator.store.events.bounds()).last;
  while (await operator.storage.write('pruneEvents', clock.now() + 1));
  expect(await code(`/webhooks/${one.id}/redeliver`, { after: Number(last) - 1 })).toBe('events_expired');
  expect(await latestEntries(one.id)).toEqual([]);
});
