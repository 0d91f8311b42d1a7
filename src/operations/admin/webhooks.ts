import type { AccountWebhook, accountWebhookOperations } from '../../contract/admin/webhooks.ts';
import { andThen } from '../../domain/awaitable.ts';
import { type EventSelector, expandSelectors, requiredScope } from '../../domain/event-type.ts';
import { formatScopes, type Scope } from '../../domain/scope.ts';
import { type OperatorContext, toAuditEntry, writeAs } from '../changes/by-operator.ts';
import { expectFoundById } from '../errors.ts';
import type { EventFeed } from '../events/feed.ts';
import { readPage } from '../resources/pages.ts';
import type { SendTest, StoredWebhook } from '../resources/webhooks.ts';
import type { Store } from '../units.ts';
import type { WebhookSecrets } from '../webhook-secrets.ts';
import { mapById } from './bans.ts';
import type { StoreHandlersOf } from './handlers.ts';
import { toNumericId } from './ids.ts';

/** Requests to webhooks, and what is needed to sign them. */
export interface WebhookSending {
  readonly sendTest: SendTest;
  readonly secrets: Pick<WebhookSecrets, 'open'>;
}

interface WebhookServices extends OperatorContext {
  readonly webhooks: WebhookSending;
  /** Present only in a serving process, not on the command line. */
  readonly feed?: EventFeed | undefined;
}

export const webhookHandlers = {
  listAccountWebhooks: async (services, { query }) => {
    const { items, next } = await readPage(query, {
      path: '/webhooks',
      read: (after, limit, { accountId, state }) =>
        services.store.webhooks.list(after, limit, {
          accountId: accountId === undefined ? undefined : toNumericId(accountId),
          enabled: state === undefined ? undefined : state === 'enabled',
        }),
    });
    return { items: await presentWebhooks(services, items), next };
  },
  getAccountWebhook: (services, { params }) => findWebhookView(services, params.webhookId),
  listAccountDeliveries: ({ store }, { params: { webhookId }, query }) =>
    readPage(query, {
      path: `/webhooks/${webhookId}/deliveries`,
      read: (after, limit, filter) =>
        andThen(find(store, webhookId), () => store.deliveries.list(after, limit, { ...filter, webhookId })),
    }),
  disableWebhook: async (services, { params: { webhookId: id }, body: { reason } }) => {
    await writeAs(services, 'disableWebhookByOperator', { id, reason, now: services.clock.now() });
    return findWebhookView(services, id);
  },
  enableWebhook: async (services, { params: { webhookId: id } }) => {
    const { last: lastEvent } = await services.store.events.bounds();
    await writeAs(services, 'enableWebhookByOperator', { id, lastEvent, now: services.clock.now() });
    return findWebhookView(services, id);
  },
  testAccountWebhook: async (services, { params: { webhookId } }) => {
    const { store, webhooks } = services;
    const webhook = await find(store, webhookId);
    const after = JSON.stringify({ url: webhook.url });
    const [operation, object] = ['testAccountWebhook', `webhook:${webhookId}`];
    // The request is recorded before it is sent, because sending cannot be undone.
    await store.write('recordAudit', toAuditEntry(services, { operation, object, before: null, after }));
    const tested = await webhooks.sendTest(webhook);
    return tested.isBlocked ? { ...tested, error: `${tested.error} ${allowedNetworksHint}` } : tested;
  },
  redeliverAccountEvents: async (services, { params, body }) => {
    const { store, clock, feed } = services;
    const input = { params, body, events: await store.events.bounds(), now: clock.now() };
    await writeAs(services, 'redeliverAccountEvents', input);
    feed?.tail.nudge();
    return findWebhookView(services, params.webhookId);
  },
  redeliverAccountDelivery: async (services, { params }) => {
    const delivery = await writeAs(services, 'redeliverAccountDelivery', {
      params,
      now: services.clock.now(),
    });
    services.feed?.tail.nudge();
    return delivery;
  },
} satisfies StoreHandlersOf<WebhookServices, typeof accountWebhookOperations>;

/** Shown only to operators, because clients cannot change the setting. */
const allowedNetworksHint =
  'Internal addresses and http are allowed only for networks in WEBHOOK_ALLOWED_NETWORKS.';

async function find({ webhooks }: Store, id: bigint): Promise<StoredWebhook> {
  return expectFoundById(await webhooks.find(id), 'webhook_not_found', id);
}

type ViewServices = Pick<WebhookServices, 'store' | 'clock' | 'webhooks' | 'feed'>;

async function findWebhookView(services: ViewServices, id: bigint): Promise<AccountWebhook> {
  const [webhook] = await presentWebhooks(services, [await find(services.store, id)]);
  return webhook as AccountWebhook;
}

/** The webhooks with the names of their accounts, without secrets. */
async function presentWebhooks(
  { store: { accounts, deliveries }, clock, webhooks: { secrets }, feed }: ViewServices,
  webhooks: readonly StoredWebhook[],
): Promise<AccountWebhook[]> {
  const accountIds = [...new Set(webhooks.map(({ accountId }) => accountId))];
  const owners = mapById(await accounts.findMany(accountIds));
  const found = await deliveries.sendable(accountIds, clock.now());
  const sendable = new Map(found.map(({ accountId, scopes }) => [accountId, scopes]));
  return webhooks.map(({ secret, formerSecret: _former, ...webhook }) => {
    const owner = owners.get(webhook.accountId);
    const isClosed = owner !== undefined && owner.closedAt !== null;
    // A command may have another SECRETS_KEY than the service.
    const undecryptable = feed && undecryptableReason(secret, secrets);
    const onHoldReason = isClosed
      ? closedReason
      : (undecryptable ?? unreadableReason(webhook, sendable.get(webhook.accountId)));
    return { ...webhook, accountName: owner?.name ?? '', ...(webhook.enabled && { onHoldReason }) };
  });
}

const closedReason = 'Events wait because the account is closed.';

function undecryptableReason(secret: string, { open }: WebhookSending['secrets']): string | undefined {
  try {
    open(secret);
    return undefined;
  } catch {
    return 'Events wait because SECRETS_KEY does not include the key that encrypted the secret of this webhook. If that key is lost, the account must rotate the secret.';
  }
}

/** Describes the events that are pending because no active key of the account may read them. */
function unreadableReason(
  { types }: Pick<StoredWebhook, 'types'>,
  scopes: readonly Scope[] = [],
): string | undefined {
  const missingFor = (selector: EventSelector) =>
    [...expandSelectors([selector])].map(requiredScope).filter((scope) => !scopes.includes(scope));
  const waiting = types.filter((selector) => missingFor(selector).length > 0);
  if (waiting.length === 0) return undefined;
  const required = formatScopes(['events:read', ...waiting.flatMap(missingFor)]);
  return `Events of type ${waiting.join(', ')} wait until the account has an active key that may read them. Required scopes: ${required}.`;
}
