import { expect } from 'bun:test';
import { mostWebhooks } from '../../src/contract/webhooks.ts';
import type { Writes } from '../../src/operations/units.ts';
import type { StoreTest } from './place.ts';

const now = 1_800_000_000_001;
const ofAccount = (accountId: number) => ({ accountId, scopes: ['webhooks:write', 'pets:read'] }) as const;

function create({ write }: Writes, accountId = 1, lastEvent = 0n) {
  const given = {
    caller: ofAccount(accountId),
    endpoint: { mistake: undefined },
    lastEvent,
    secret: 'sealed',
    now,
  };
  return write('createWebhook', { ...given, body: { url: 'https://shop.example/' } });
}

export function webhooksConform(check: StoreTest): void {
  check(
    `an account has ${mostWebhooks} at most, however many processes create them`,
    async ({ store, beside }) => {
      const stores = [store, await beside()];
      const asked = Array.from({ length: mostWebhooks }, () => stores.map((one) => create(one))).flat();
      const outcomes = await Promise.allSettled([...asked, create(store, 2)]);
      const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
      expect(refused.map(({ reason }) => reason.code)).toEqual(Array(mostWebhooks).fill('too_many_webhooks'));
      expect(await store.webhooks.list(undefined, 100, { accountId: 1 })).toHaveLength(mostWebhooks);
    },
  );

  check('a webhook that an operator enables continues with the events from then on', async ({ store }) => {
    const { id } = await create(store, 1, 7n);
    const position = async () => (await store.webhooks.find(id))?.position;
    await store.write('enableWebhookByOperator', { id, lastEvent: 8n });
    expect(await position()).toBe(7n);
    const reason = 'Overloaded.';
    expect(await store.write('disableWebhookByOperator', { id, reason, now })).toBe(true);
    expect(await store.webhooks.find(id)).toMatchObject({ enabled: false, disabledReason: reason });
    await store.write('enableWebhookByOperator', { id, lastEvent: 9n });
    const { enabled, disabledReason } = (await store.webhooks.find(id)) ?? {};
    expect([await position(), enabled, disabledReason]).toEqual([9n, true, undefined]);
    expect(await store.write('enableWebhookByOperator', { id: 99n, lastEvent: 9n })).toBe(false);
  });

  check('events become deliveries once, and none of a disabled webhook', async ({ store, beside }) => {
    const { id: webhookId } = await create(store, 1, 7n);
    const events = [8n, 9n].map((id) => ({ id, type: 'pet.created' }) as const);
    const queued = { webhookId, after: 7n, events, position: 11n, now };
    const change = { params: { webhookId }, preconditions: {}, caller: ofAccount(1), lastEvent: 7n, now };
    const enable = (enabled: boolean) =>
      store.write('updateWebhook', { ...change, endpoint: { mistake: undefined }, body: { enabled } });
    await enable(false);
    expect(await store.write('queueDeliveries', queued)).toBe(false);
    await enable(true);
    const stores = [store, await beside(), store];
    const done = await Promise.all(stores.map((one) => one.write('queueDeliveries', queued)));
    expect(done.sort()).toEqual([false, false, true]);
    const rows = await store.deliveries.list(undefined, 9, { webhookId });
    expect(rows.map(({ eventId, nextAttemptAt }) => [eventId, nextAttemptAt])).toEqual([
      [9n, now],
      [8n, now],
    ]);
    expect((await store.webhooks.find(webhookId))?.position).toBe(11n);
  });

  check('deliveries are deleted with their webhook, and no others', async ({ store }) => {
    const [{ id: webhookId }, other] = [await create(store), await create(store)];
    const events = [{ id: 1n, type: 'pet.created' }] as const;
    for (const id of [webhookId, other.id])
      await store.write('queueDeliveries', { webhookId: id, after: 0n, events, position: 1n, now });
    const deleted = { params: { webhookId }, preconditions: {}, caller: ofAccount(1), now };
    await store.write('deleteWebhook', deleted);
    expect((await store.deliveries.list()).map((delivery) => delivery.webhookId)).toEqual([other.id]);
  });
}
