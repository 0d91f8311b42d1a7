/** Rules for webhooks and deliveries, shared by both engines. */
import { type LeasedDelivery, type LeaseRequest, maxHeldEvents, maxPending } from '../domain/delivery.ts';
import {
  type EventSelector,
  type EventType,
  eventScopes,
  expandSelectors,
  scopeByEventGroup,
} from '../domain/event-type.ts';
import type { Scope } from '../domain/scope.ts';
import { skippedIdsPerRestore } from '../tables/events.ts';
import type { Dialect } from './queries/engine.ts';
import type { SweepPosition } from './transaction.ts';

/**
 * Precision of the recorded time of a webhook's last success. Recording every success would double the number of writes
 * per delivery.
 */
export const successPrecisionMs = 60_000;
/** Number of pending deliveries that a redelivery makes due at once. A webhook rarely has more. */
export const maxRedeliveredAtOnce = 990;
/** Number of deliveries that are removed or released per transaction. Each of them updates six indexes. */
export const deliveryBatch = 250;

/** Number of webhooks whose finished deliveries are counted per transaction. */
export const trimBatch = 10;
const finishedStatuses = ['failed', 'succeeded'] as const;

/** A webhook with the newest delivery to remove of each finished status; null if there is none. */
export type TrimCandidate = Readonly<
  Record<'id', bigint> & Record<(typeof finishedStatuses)[number], bigint | null>
>;

/** SQL columns of a `TrimCandidate`. `keep` is the SQL for the number of deliveries of each status that are kept. */
export const trimCandidateColumnsSql = (keep: string) =>
  finishedStatuses
    .map(
      (status) => `(SELECT id FROM deliveries WHERE webhook_id = webhooks.id AND status = '${status}'
        ORDER BY webhook_id DESC, status DESC, id DESC LIMIT 1 OFFSET ${keep}) AS ${status}`,
    )
    .join(', ');

/** The deliveries to remove next, found in up to `trimBatch` webhooks; undefined if there are no more webhooks. */
export function nextToTrim(
  webhooks: readonly TrimCandidate[],
  { webhookId, status: from }: SweepPosition,
): SweepPosition | undefined {
  for (const { id, ...newest } of webhooks)
    for (const status of finishedStatuses) {
      const first = newest[status];
      const isNext = id > webhookId || status >= from;
      if (first !== null && isNext) return { webhookId: id, status, id: first + 1n };
    }
  const last = webhooks[trimBatch - 1];
  return last && { webhookId: last.id + 1n, status: '', id: 0n };
}

/** The position after a step that removed these deliveries of one webhook and status, newest first. */
export function trimmedTo({ webhookId, status }: SweepPosition, removed: readonly bigint[]): SweepPosition {
  const id = removed.reduce((lowest, one) => (one < lowest ? one : lowest), removed[0] ?? 0n);
  if (removed.length === deliveryBatch) return { webhookId, status, id };
  if (status === 'failed') return { webhookId, status: 'succeeded', id: 0n };
  return { webhookId: webhookId + 1n, status: '', id: 0n };
}

export const missingPacesSql = `SELECT DISTINCT account_id FROM webhooks
  WHERE NOT EXISTS (SELECT 1 FROM webhook_paces WHERE webhook_paces.account_id = webhooks.account_id)
  LIMIT ${deliveryBatch}`;

/** A webhook with due deliveries, or with events that have not been queued as deliveries yet. */
export interface ReadyWebhook {
  readonly id: bigint;
  readonly accountId: bigint;
  readonly url: string;
  readonly types: string;
  readonly secret: string;
  readonly formerSecret: string | null;
  readonly formerSecretUntil: bigint | null;
  readonly position: bigint;
  readonly redeliveringTo: bigint | null;
  readonly isBehind: bigint | boolean;
  /** The scopes of the events that may be sent now, separated by spaces. */
  readonly sendable: string;
  readonly pacedUntil: bigint;
}

export interface LeasedRow {
  readonly id: bigint;
  readonly webhookId: bigint;
  readonly eventId: bigint;
  readonly type: EventType;
  readonly attempts: string;
  readonly createdAt: bigint;
}

/**
 * Bounds of the delay after which a delivery is due again if the process ended while it held the lease. Between the
 * bounds, the delay is the age of the delivery, so that a delivery whose attempts crash the process is retried less and
 * less often.
 */
const crashDelayMs = { min: 5_000, max: 300_000 } as const;

/**
 * SQL for the time when a leased delivery is due again if the process ends. `soonest` is the SQL for a lower bound.
 */
export function dueAfterCrashSql({ least, greatest }: Dialect, now: string, soonest?: string) {
  const delay = `${least}(${now} - created_at, ${crashDelayMs.max})`;
  return `${greatest}(${soonest ?? `${now} + ${crashDelayMs.min}`}, ${now} + ${delay})`;
}

/**
 * SQL condition on a delivery whose next attempt was scheduled before the clock was set back. `latestAttempt` (ISO 8601)
 * allows for clocks that differ. Only a lease schedules a first attempt for the future.
 */
export function mistimedSql(
  { memberOfLast }: Dialect,
  at: Readonly<Record<'latestAttempt' | 'latestLease' | 'latestRetry', string>>,
): string {
  return `next_attempt_at > ${at.latestLease} AND (leased_until > ${at.latestLease}
    OR (attempts = '[]' AND next_attempt_at > ${at.latestLease} + ${crashDelayMs.max})
    OR next_attempt_at > ${at.latestRetry} OR ${memberOfLast('attempts', 'at')} > ${at.latestAttempt})`;
}

/**
 * SQL for the scope that a delivery's event requires, as in the index `due_deliveries_by_event_scope`. There is no
 * ELSE, so events of groups that are unknown to this version are left to later versions.
 */
export const deliveryScopeSql = `CASE ${Object.entries(scopeByEventGroup)
  .map(([group, scope]) => `WHEN substr(type, 1, ${group.length + 1}) = '${group}.' THEN '${scope}'`)
  .join(' ')} END`;

/** SQL conditions on a row of `webhooks`. `now` is the SQL for the current time. */
export function sendingSql({ position }: Dialect, now: string) {
  const pending = "FROM deliveries WHERE webhook_id = webhooks.id AND status = 'pending'";
  /** Whether the account is open and has an active key that may read events with this scope. */
  const isReadable = (scope: Scope) => `EXISTS (
    SELECT 1 FROM keys JOIN accounts ON accounts.id = keys.account_id
    WHERE keys.account_id = webhooks.account_id AND revoked_at IS NULL AND closed_at IS NULL
      AND ${position}(scopes, 'events:read') > 0 AND ${position}(scopes, '${scope}') > 0
      AND coalesce(expires_at, 9223372036854775807) > ${now})`;
  const isDue = (scope: Scope) =>
    `EXISTS (SELECT 1 ${pending} AND ${deliveryScopeSql} = '${scope}' AND next_attempt_at <= ${now})`;
  /** Whether the webhook may get more deliveries, considering only those that require this scope. */
  const hasRoomFor = (scope: Scope) => {
    const ofScope = `${pending} AND ${deliveryScopeSql} = '${scope}'`;
    const first = `(SELECT event_id ${ofScope} ORDER BY next_attempt_at, id LIMIT 1)`;
    return `(NOT ${isReadable(scope)} AND position < ${first} + ${maxHeldEvents}
      OR (SELECT 1 ${ofScope} LIMIT 1 OFFSET ${maxPending - 1}) IS NULL)`;
  };
  const hasRoom = eventScopes.map(hasRoomFor).join(' AND ');
  const anyOf = (condition: (scope: Scope) => string) => `(${eventScopes.map(condition).join(' OR ')})`;
  return {
    pending,
    hasRoom,
    isAnyReadable: anyOf(isReadable),
    isAnyDue: anyOf((scope) => `(${isDue(scope)} AND ${isReadable(scope)})`),
    sendable: eventScopes
      .map((scope) => `CASE WHEN ${isReadable(scope)} THEN '${scope} ' ELSE '' END`)
      .join(' || '),
    isRedelivering: `(position < redelivering_to AND (SELECT 1 ${pending} LIMIT 1 OFFSET ${maxPending - 1}) IS NULL
      OR EXISTS (SELECT 1 ${pending} AND event_id <= redelivering_to AND (next_attempt_at <= ${now} OR leased_until > ${now})))`,
  };
}

/** The webhooks that were examined and whose queues of deliveries are full. */
export function findFull(
  found: readonly Pick<ReadyWebhook, 'id' | 'isBehind' | 'position'>[],
  last: bigint,
  { full }: Pick<LeaseRequest, 'full'>,
): bigint[] {
  const known = new Set(full);
  return found
    .filter(({ id, isBehind, position }) => !isBehind && position < last && !known.has(id))
    .map(({ id }) => id);
}

export const parseSendableScopes = ({ sendable }: Pick<ReadyWebhook, 'sendable'>): Scope[] =>
  eventScopes.filter((scope) => sendable.split(' ').includes(scope));

/** Selects events that may become deliveries: events of these types with ids above `after`. */
interface EventSelection {
  readonly after: bigint;
  readonly types: readonly string[];
  /** Whether these events were queued before, so that some may still have a pending delivery. */
  readonly isAgain: boolean;
}

/** The event types that the stored selectors of a webhook match. */
const typesOf = (selectors: string): EventType[] => [
  ...expandSelectors(selectors.split(' ') as EventSelector[]),
];

/** `oldest` is the id of the oldest retained event. */
export function selectEvents(
  { position, types, redeliveringTo }: Pick<ReadyWebhook, 'position' | 'types' | 'redeliveringTo'>,
  { oldest }: { readonly oldest: bigint },
): EventSelection {
  const after = position < oldest - 1n ? oldest - 1n : position;
  const isAgain = redeliveringTo !== null && position < redeliveringTo;
  return { after, types: typesOf(types), isAgain };
}

/** Number of events that expired between two positions. A gap in the ids after a restore counts as one event. */
export function countExpired(position: bigint, after: bigint): bigint {
  return after - position >= BigInt(skippedIdsPerRestore) ? 1n : after - position;
}

export function toLeasedDelivery(row: LeasedRow, webhook: ReadyWebhook, leasedUntil: number): LeasedDelivery {
  const { url, types, secret, formerSecret, formerSecretUntil } = webhook;
  const isSelected = typesOf(types).includes(row.type);
  const accountId = Number(webhook.accountId);
  const until = formerSecretUntil === null ? null : Number(formerSecretUntil);
  const message = { ...row, createdAt: Number(row.createdAt), leasedUntil };
  return { ...message, accountId, url, isSelected, secret, formerSecret, formerSecretUntil: until };
}
