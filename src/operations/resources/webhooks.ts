import { ApiError } from '../../contract/api-error.ts';
import { maxWebhooks } from '../../contract/bounds.ts';
import type { WebhookTest } from '../../contract/deliveries.ts';
import { webhookJson } from '../../contract/representations.ts';
import type { webhookOperations } from '../../contract/webhooks.ts';
import { type Awaitable, andThen } from '../../domain/awaitable.ts';
import { dayMs } from '../../domain/clock.ts';
import {
  canRead,
  type EventSelector,
  eventSelectors,
  expandSelectors,
  typeGroups,
} from '../../domain/event-type.ts';
import type { Scope } from '../../domain/scope.ts';
import type { EventBounds, Storage } from '../../storage/storage.ts';
import type { Transaction } from '../../storage/transaction.ts';
import type { RowOf } from '../../tables/table.ts';
import {
  deletedWebhookOwner,
  type deliveries as deliveryTable,
  type webhooks as table,
} from '../../tables/webhooks.ts';
import type { Authenticated } from '../admission/admission.ts';
import { checkPreconditions } from '../changes/preconditions.ts';
import { expectFound, invalidMemberError } from '../errors.ts';
import { expectRetained } from '../events/feed.ts';
import { expectReadable } from './events.ts';
import { readPage } from './pages.ts';
import type { OperationReaders, OperationUnits, ResolvedNeeds } from './rows.ts';

/** How long deliveries are also signed with the previous secret after a rotation. */
const formerSecretForMs = dayMs;

export type StoredWebhook = RowOf<typeof table>;
type StoredDelivery = RowOf<typeof deliveryTable>;

/** Sends a test event to a webhook. The secrets of `webhook` are encrypted. */
export type SendTest = (webhook: StoredWebhook) => Promise<WebhookTest>;

export const webhookReaders = (sendTest: SendTest) =>
  ({
    listWebhooks: ({ webhooks }, { query }, { caller: { accountId } }) =>
      readPage(query, {
        path: '/webhooks',
        read: (after, limit, filter) => webhooks.list(after, limit, { ...filter, accountId }),
      }),
    getWebhook: ({ webhooks }, { params }, { caller }) =>
      findOwnWebhook(webhooks, params.webhookId, caller.accountId),
    testWebhook: async ({ webhooks }, { params }, { caller }) => {
      const webhook = await findOwnWebhook(webhooks, params.webhookId, caller.accountId);
      expectAuthority(caller.scopes, webhook);
      return sendTest(webhook);
    },
    listDeliveries: ({ webhooks, deliveries }, { params: { webhookId }, query }, { caller }) =>
      readPage(query, {
        path: `/webhooks/${webhookId}/deliveries`,
        read: (after, limit, filter) =>
          andThen(findOwnWebhook(webhooks, webhookId, caller.accountId), () =>
            deliveries.list(after, limit, { ...filter, webhookId }),
          ),
      }),
  }) satisfies OperationReaders<typeof webhookOperations, [Authenticated]>;

const writes = ['webhooks'] as const;
const writesIfOpen = ['callers', 'webhooks'] as const;

/** A deleted webhook gets no more deliveries. `sweepWebhooks` removes its deliveries, and then the webhook itself. */
const deleted = {
  accountId: deletedWebhookOwner,
  enabled: false,
  secret: '',
  formerSecret: undefined,
} as const;

export const webhookUnits = {
  createWebhook: {
    writes: writesIfOpen,
    run: async ({ webhooks, accounts }, { body, caller, endpoint, events, secret, now }) => {
      await expectOpen(accounts, caller);
      const { url, types = readableSelectors(caller.scopes), description } = body;
      expectAuthority(caller.scopes, { types });
      expectValidEndpoint(endpoint);
      const { accountId } = caller;
      const others = await webhooks.list(undefined, maxWebhooks, { accountId });
      if (others.length === maxWebhooks) throw new ApiError('too_many_webhooks');
      const made = { accountId, url, types: sortSelectors(types), description, enabled: true } as const;
      return webhooks.add({ ...made, secret, position: events.last, createdAt: now });
    },
    checkReplay: expectSecretAuthority,
  },
  updateWebhook: {
    writes: writesIfOpen,
    run: async ({ webhooks, accounts }, { params, body, preconditions, caller, endpoint, events, now }) => {
      await expectOpen(accounts, caller);
      const before = await findOwnWebhook(webhooks, params.webhookId, caller.accountId);
      const { description, enabled = before.enabled } = body;
      const changes = {
        url: body.url ?? before.url,
        types: sortSelectors(body.types ?? before.types),
        description: description === undefined ? before.description : (description ?? undefined),
        enabled,
        disabledReason: body.enabled === undefined ? before.disabledReason : undefined,
      };
      const after = { ...before, ...changes };
      const isUnchanged = webhookJson(after) === webhookJson(before);
      const disabled = { ...before, enabled: false, disabledReason: undefined };
      const onlyDisables = webhookJson(after) === webhookJson(disabled);
      if (!isUnchanged && !onlyDisables) expectAuthority(caller.scopes, before, after);
      checkPreconditions(preconditions, webhookJson(before));
      expectValidEndpoint(endpoint);
      if (isUnchanged) return before;
      // A re-enabled webhook receives only events that occur after it was re-enabled.
      const isContinued = enabled && !before.enabled;
      await webhooks.update(before.id, {
        ...changes,
        ...(changes.url !== before.url && { succeededAt: now }),
        ...(isContinued && resumeDeliveries(events.last, now)),
      });
      return after;
    },
  },
  deleteWebhook: {
    writes,
    run: async ({ webhooks }, { params, preconditions, caller }) => {
      const before = await findOwnWebhook(webhooks, params.webhookId, caller.accountId);
      checkPreconditions(preconditions, webhookJson(before));
      await webhooks.update(before.id, deleted);
    },
  },
  rotateWebhookSecret: {
    writes,
    run: async ({ webhooks }, { params, preconditions, caller, secret, now }) => {
      const before = await findOwnWebhook(webhooks, params.webhookId, caller.accountId);
      expectAuthority(caller.scopes, before);
      checkPreconditions(preconditions, webhookJson(before));
      const formerSecretUntil = now + formerSecretForMs;
      const rotated = { secret, formerSecret: before.secret, formerSecretUntil };
      await webhooks.update(before.id, rotated);
      return { ...before, ...rotated };
    },
    checkReplay: expectSecretAuthority,
  },
  redeliverEvents: {
    writes,
    run: async (transaction, { params, body, caller, events, now }) => {
      const webhook = await findOwnWebhook(transaction.webhooks, params.webhookId, caller.accountId);
      expectAuthority(caller.scopes, webhook);
      await redeliverEvents(transaction, webhook, { ...body, events, now });
      return webhook;
    },
  },
  redeliver: {
    writes,
    run: async (transaction, { params: { webhookId, deliveryId }, caller, now }) => {
      const webhook = await findOwnWebhook(transaction.webhooks, webhookId, caller.accountId);
      expectAuthority(caller.scopes, webhook);
      return redeliver(transaction, webhook, { deliveryId, now, scopes: caller.scopes });
    },
  },
} as const satisfies OperationUnits<typeof webhookOperations, unknown>;

/**
 * Re-enables a webhook at `now` (Unix ms): later events are sent, a redelivery is canceled, and attempts that began
 * before do not disable the webhook.
 */
export const resumeDeliveries = (position: bigint, now: number) => ({
  ...{ position, redeliveringTo: undefined },
  succeededAt: now,
});

/** Sends events after an id again. Throws `webhook_disabled`, `events_expired` and `redelivery_in_progress`. */
export async function redeliverEvents(
  { deliveries }: Transaction,
  webhook: StoredWebhook,
  { after, events, now }: { readonly after: bigint; readonly events: EventBounds; readonly now: number },
): Promise<void> {
  // Enabling a disabled webhook skips earlier events, so a request to send them again would have no effect.
  if (!webhook.enabled) throw new ApiError('webhook_disabled');
  expectRetained(after, events);
  if (!(await deliveries.startRedelivery(webhook.id, after, now)))
    throw new ApiError('redelivery_in_progress');
}

interface RedeliverInput {
  readonly deliveryId: bigint;
  /** Unix ms. */
  readonly now: number;
  /** The scopes of the client's key; undefined for an operator. */
  readonly scopes?: readonly Scope[];
}

/**
 * Sends the event of a delivery again. The delivery may be older than the webhook's types, so its type is checked as well.
 * Throws `delivery_not_found`, `insufficient_scope`, `event_type_not_selected` and `too_many_deliveries`.
 */
export async function redeliver(
  { deliveries }: Transaction,
  { id: webhookId, types }: Pick<StoredWebhook, 'id' | 'types'>,
  { deliveryId, now, scopes }: RedeliverInput,
): Promise<StoredDelivery> {
  const delivery = await deliveries.find(deliveryId);
  if (delivery?.webhookId !== webhookId) throw new ApiError('delivery_not_found');
  const { eventId, type } = delivery;
  if (scopes !== undefined) expectReadable([type], new Set(scopes));
  if (!expandSelectors(types).has(type)) throw new ApiError('event_type_not_selected');
  const due = { status: 'pending', nextAttemptAt: now } as const;
  if (delivery.status === 'pending') {
    await deliveries.hasten(deliveryId, now);
    return { ...delivery, ...due };
  }
  if (!(await deliveries.hasRoom(webhookId))) throw new ApiError('too_many_deliveries');
  return deliveries.add({ ...due, webhookId, eventId, type, attempts: '[]', createdAt: now });
}

/**
 * Throws `invalid_api_key` if the account was closed after the request was admitted. Closing an account disables its
 * webhooks, so a webhook that is enabled later would send events once the account is reopened.
 */
async function expectOpen(
  accounts: Transaction['accounts'],
  { accountId }: ResolvedNeeds['caller'],
): Promise<void> {
  const account = await accounts.find(accountId);
  if (account?.closedAt != null) throw new ApiError('invalid_api_key');
}

/** Throws `webhook_not_found` if the webhook does not exist or belongs to another account. */
function findOwnWebhook(
  webhooks: Pick<Storage['webhooks'] | Transaction['webhooks'], 'find'>,
  id: bigint,
  accountId: number,
): Awaitable<StoredWebhook> {
  return andThen(webhooks.find(id), (webhook) =>
    expectFound(webhook?.accountId === accountId ? webhook : undefined, 'webhook_not_found'),
  );
}

/** Selectors that match all events the key may read, including event types added later. */
function readableSelectors(scopes: readonly Scope[]): EventSelector[] {
  const mayReadAll = (selector: EventSelector) =>
    [...expandSelectors([selector])].every((type) => canRead(new Set(scopes), type));
  return typeGroups.filter(mayReadAll);
}

function sortSelectors(types: readonly EventSelector[]): EventSelector[] {
  return eventSelectors.filter((selector) => types.includes(selector));
}

/**
 * Throws `insufficient_scope` unless the caller may read all events that the webhook selects, before and after a change.
 * The webhook sends them after the request has ended.
 */
function expectAuthority(
  scopes: Iterable<Scope>,
  ...webhooks: readonly Pick<StoredWebhook, 'types'>[]
): void {
  const selected = expandSelectors(webhooks.flatMap(({ types }) => types));
  expectReadable([...selected], new Set(scopes));
}

/** Throws `insufficient_scope` if a stored response has the secret of a webhook whose events the caller may not read. */
async function expectSecretAuthority(
  { webhooks }: Transaction,
  { caller }: Pick<ResolvedNeeds, 'caller'>,
  { body = '' }: { readonly body: string | undefined },
): Promise<void> {
  const [, id = ''] = /^\{"id":(\d+)/.exec(body) ?? [];
  const webhook = await webhooks.find(BigInt(id));
  if (webhook !== undefined) expectAuthority(caller.scopes, webhook);
}

function expectValidEndpoint({ mistake }: ResolvedNeeds['endpoint']): void {
  if (mistake !== undefined) throw invalidMemberError('url', mistake);
}
