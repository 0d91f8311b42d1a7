import type { AccountWebhook, accountWebhookOperations } from '../../contract/admin/webhooks.ts';
import { andThen } from '../../domain/awaitable.ts';
import type { RowIn } from '../../tables/table.ts';
import type { webhooks as table } from '../../tables/webhooks.ts';
import { type OperatorContext, writeAs } from '../changes/by-operator.ts';
import { foundById } from '../refusals.ts';
import { pageOf } from '../resources/pages.ts';
import type { Store } from '../units.ts';
import { mapById } from './bans.ts';
import type { HandlersOf } from './handlers.ts';

type StoredWebhook = RowIn<typeof table>;

export const webhookHandlers = {
  listAccountWebhooks: async ({ store }, { query }) => {
    const { items, next } = await pageOf(query, {
      path: '/webhooks',
      read: (after, limit, { accountId, state }) =>
        store.webhooks.list(after, limit, {
          accountId: accountId === undefined ? undefined : Number(accountId),
          enabled: state === undefined ? undefined : state === 'enabled',
        }),
    });
    return { items: await shown(store, items), next };
  },
  getAccountWebhook: ({ store }, { params }) => findShown(store, params.webhookId),
  listAccountDeliveries: ({ store }, { params: { webhookId }, query }) =>
    pageOf(query, {
      path: `/webhooks/${webhookId}/deliveries`,
      read: (after, limit, { status }) =>
        andThen(find(store, webhookId), () => store.deliveries.list(after, limit, { webhookId, status })),
    }),
  disableWebhook: async (services, { params: { webhookId: id }, body: { reason } }) => {
    const now = services.clock.now();
    expectWebhook(await writeAs(services, 'disableWebhookByOperator', { id, reason, now }), id);
    return findShown(services.store, id);
  },
  enableWebhook: async (services, { params: { webhookId: id } }) => {
    const { last: lastEvent } = await services.store.events.bounds();
    expectWebhook(await writeAs(services, 'enableWebhookByOperator', { id, lastEvent }), id);
    return findShown(services.store, id);
  },
} satisfies HandlersOf<OperatorContext, typeof accountWebhookOperations>;

async function find({ webhooks }: Store, id: bigint): Promise<StoredWebhook> {
  return foundById(await webhooks.find(id), 'webhook_not_found', id);
}

function expectWebhook(exists: boolean, id: bigint): void {
  foundById(exists || undefined, 'webhook_not_found', id);
}

async function findShown(store: Store, id: bigint): Promise<AccountWebhook> {
  const [webhook] = await shown(store, [await find(store, id)]);
  return webhook as AccountWebhook;
}

/** The webhooks with the names of their accounts, without secrets. */
async function shown(
  { accounts }: Pick<Store, 'accounts'>,
  webhooks: readonly StoredWebhook[],
): Promise<AccountWebhook[]> {
  const accountIds = new Set(webhooks.map(({ accountId }) => accountId));
  const owners = mapById(await accounts.findMany([...accountIds]));
  return webhooks.map(({ secret: _, formerSecret: _former, ...webhook }) => ({
    ...webhook,
    accountName: owners.get(webhook.accountId)?.name ?? '',
  }));
}
