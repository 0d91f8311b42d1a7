/** Webhooks of all accounts, for operators. */
import { afterAll, expect, test } from 'bun:test';
import { callAdmin } from '../support/admin.ts';
import { openDesk } from '../support/admin-answers.ts';
import { type Buyer, buyerOf } from '../support/orders.ts';
import { addDeliveries, failedDelivery, succeededDelivery } from '../support/webhooks.ts';

const desk = await openDesk();
const { app, ask, done, list } = desk;
afterAll(() => desk[Symbol.asyncDispose]());

interface Listed {
  readonly id: number;
  readonly eventId: number;
  readonly object: string;
  readonly before: { readonly enabled: boolean };
}

const url = 'https://shop.example/webhooks';

async function created({ call }: Buyer): Promise<{ readonly id: number; readonly secret: string }> {
  const { text } = await call('POST', '/webhooks', { body: JSON.stringify({ url, types: ['pet.*'] }) });
  return JSON.parse(text);
}

const [anna, ben] = [await buyerOf(app), await buyerOf(app)];
const [first, second, third] = [await created(anna), await created(anna), await created(ben)];
const disable = (id: number, reason = 'Overloaded.') => done('POST', `/webhooks/${id}/disable`, { reason });
const enable = (id: number) => done('POST', `/webhooks/${id}/enable`);
const asClient = async ({ call }: Buyer, id: number) =>
  JSON.parse((await call('GET', `/webhooks/${id}`)).text);
const newest = async (type: string) => {
  const [event] = await done<{ id: number; data: object }[]>(
    'GET',
    `/events?order=desc&limit=1&type=${type}`,
  );
  return event;
};

test('deliveries are listed newest first with their attempts, and can be filtered by status', async () => {
  const [id, now] = [BigInt(first.id), app.clock.now()];
  await addDeliveries(app.config.databaseUrl, [
    failedDelivery(id, 41n, now),
    succeededDelivery(id, 42n, now),
    succeededDelivery(3n, 42n, now),
  ]);
  const eventsOf = async (target: string) => (await list<Listed>(target)).items.map(({ eventId }) => eventId);
  expect(await eventsOf(`/webhooks/${id}/deliveries?limit=1`)).toEqual([42, 41]);
  expect(await done(`GET`, `/webhooks/${id}/deliveries?status=failed`)).toMatchObject([
    { eventId: 41, attempts: [{ status: 503 }, { error: 'No response within 15 s.' }] },
  ]);
  expect((await ask('GET', '/webhooks/99/deliveries')).code).toBe('webhook_not_found');
});

test('disabling a webhook creates exactly one event for its account, which contains the reason', async () => {
  const reason = 'The receiver is "down".';
  const disabled = { id: third.id, accountId: ben.account.id, accountName: 'buyer', enabled: false };
  expect(await disable(third.id, reason)).toMatchObject({ ...disabled, disabledReason: reason });
  expect(await asClient(ben, third.id)).toMatchObject({ enabled: false, disabledReason: reason });
  const event = await newest('webhook.*');
  expect(event?.data).toEqual({ id: third.id, reason });
  expect(await disable(third.id, 'Another reason.')).toMatchObject({ disabledReason: 'Another reason.' });
  expect(await newest('webhook.*')).toEqual(event);
  expect((await ask('POST', `/webhooks/${third.id}/disable`, {})).code).toBe('invalid_body');
});

test('enabling a webhook clears its disabledReason', async () => {
  await disable(third.id);
  expect(await enable(third.id)).not.toHaveProperty('disabledReason');
  const shown = await asClient(ben, third.id);
  expect([shown.enabled, shown.disabledReason]).toEqual([true, undefined]);
});

test('changes to a webhook are recorded once per Idempotency-Key, and are listed for the account', async () => {
  const body = { reason: 'Maintenance.' };
  const { token } = desk.operator;
  const headers = { 'Idempotency-Key': 'a-key-of-this-request-alone-0123456789' };
  const send = () => callAdmin(app, 'POST', `/webhooks/${first.id}/disable`, { token, body, headers });
  const answers = [await send(), await send()];
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  await enable(first.id);
  await enable(first.id);
  const { items } = await list<Listed>(`/audit?account=${anna.account.id}&object=webhook:${first.id}`);
  expect(items.map(({ object, before }) => [object, before.enabled])).toEqual([
    [`webhook:${first.id}`, false],
    [`webhook:${first.id}`, true],
  ]);
});

test('no response or audit entry contains a secret, even in encrypted form', async () => {
  const rows = await app.operator.store.webhooks.list();
  const secrets = [first, second, third, ...rows].map(({ secret }) => secret);
  for (const target of ['/webhooks', `/webhooks/${first.id}`, '/audit?limit=100', '/events?limit=100']) {
    const { text } = await ask('GET', target);
    for (const secret of secrets) expect(text).not.toContain(secret);
  }
  const { text } = await ask('POST', `/webhooks/${first.id}/enable`);
  for (const secret of secrets) expect(text).not.toContain(secret);
});

test('a webhook shows why its events are on hold if no active key of its account has the scopes to read them', async () => {
  const cleo = await buyerOf(app);
  const { id } = await created(cleo);
  const reason = async () => (await done<{ onHoldReason?: string }>('GET', `/webhooks/${id}`)).onHoldReason;
  expect(await reason()).toBeUndefined();
  await app.operator.keys.revoke(cleo.keyId);
  expect(await reason()).toBe(
    'Events of type pet.* wait until the account has an active key that may read them. Required scopes: pets:read events:read.',
  );
  await app.operator.accounts.close(cleo.account.id);
  expect(await reason()).toBeUndefined();
  expect(await done('GET', `/webhooks/${id}`)).toMatchObject({ disabledReason: 'account_closed' });
});
