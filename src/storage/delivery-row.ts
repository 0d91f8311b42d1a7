/** Rules for webhooks and deliveries, shared by both engines. */
import {
  atOnce,
  maxPending,
  paceOf,
  portionLength,
  type Standing,
  type Taken,
  type TakenDelivery,
  type TakeRequest,
  takenBy,
  takenByAccount,
} from '../domain/delivery.ts';
import { type EventSelector, type EventType, eventScopes, selectedTypes } from '../domain/event-type.ts';
import type { Scope } from '../domain/scope.ts';
import { restoreGap } from '../tables/events.ts';

/**
 * Precision of the recorded time of a webhook's last success. Recording every success would double the number of writes
 * per delivery.
 */
export const successEveryMs = 60_000;
/** Number of pending deliveries that a redelivery makes due at once. A webhook rarely has more. */
export const maxHastened = 990;
/** Number of deliveries that are removed or released per transaction. Each of them changes six indexes. */
export const deliveryBatch = 250;

export const missingPaces = `SELECT DISTINCT account_id FROM webhooks
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
 * SQL condition on a delivery whose next attempt was scheduled before the clock was set back. `attemptedAt` is
 * the SQL for the time of the last attempt (ISO 8601). Only a lease schedules a first attempt for the future.
 */
export function mistimedSql(
  attemptedAt: string,
  at: Readonly<Record<'now' | 'latestLease' | 'latestRetry', string>>,
): string {
  return `next_attempt_at > ${at.latestLease} AND (leased_until IS NOT NULL
    OR attempts = '[]' OR next_attempt_at > ${at.latestRetry} OR ${attemptedAt} > ${at.now})`;
}

/** The scope that a delivery's event requires, as in the index `due_deliveries_by_scope`. */
export const deliveryScope = `CASE WHEN substr(type, 1, 6) = 'order.'
  THEN 'orders:read' WHEN substr(type, 1, 8) = 'webhook.' THEN 'webhooks:write' ELSE 'pets:read' END`;

/**
 * SQL conditions on a row of `webhooks`, which differ only in the function that finds a text in another. `now` is the SQL
 * for the current time.
 */
export function sendingSql(position: 'instr' | 'strpos', now: string) {
  const pending = "FROM deliveries WHERE webhook_id = webhooks.id AND status = 'pending'";
  /** Whether the account is open and has an active key that may read events with this scope. */
  const isReadable = (scope: Scope) => `EXISTS (
    SELECT 1 FROM keys JOIN accounts ON accounts.id = keys.account_id
    WHERE keys.account_id = webhooks.account_id AND revoked_at IS NULL AND closed_at IS NULL
      AND ${position}(scopes, 'events:read') > 0 AND ${position}(scopes, '${scope}') > 0
      AND coalesce(expires_at, 9223372036854775807) > ${now})`;
  const isDue = (scope: Scope) =>
    `EXISTS (SELECT 1 ${pending} AND ${deliveryScope} = '${scope}' AND next_attempt_at <= ${now})`;
  const anyOf = (condition: (scope: Scope) => string) => `(${eventScopes.map(condition).join(' OR ')})`;
  return {
    pending,
    isAnyReadable: anyOf(isReadable),
    isAnyDue: anyOf((scope) => `(${isDue(scope)} AND ${isReadable(scope)})`),
    sendable: eventScopes
      .map((scope) => `CASE WHEN ${isReadable(scope)} THEN '${scope} ' ELSE '' END`)
      .join(' || '),
    isRedelivering: `(position < redelivering_to AND (SELECT 1 ${pending} LIMIT 1 OFFSET ${maxPending - 1}) IS NULL
      OR EXISTS (SELECT 1 ${pending} AND event_id <= redelivering_to AND (next_attempt_at <= ${now} OR leased_until > ${now})))`,
  };
}

export const scopesOf = ({ sendable }: Pick<ReadyWebhook, 'sendable'>): Scope[] =>
  eventScopes.filter((scope) => sendable.split(' ').includes(scope));

export type StandingRow = Pick<ReadyWebhook, 'id' | 'url' | 'secret' | 'formerSecret' | 'sendable'>;

export function standingOf(rows: readonly StandingRow[]): Record<string, Standing> {
  return Object.fromEntries(
    rows.map(({ id, sendable, ...sending }) => [String(id), { ...sending, scopes: scopesOf({ sendable }) }]),
  );
}

/** How many deliveries of a webhook a process may lease, and the pace of its account before that. */
interface Share {
  readonly most: number;
  readonly pace: ReturnType<typeof paceOf>;
}

/** Divides the pace and the leases of each account among its webhooks, which take turns in being the first. */
export function sharesOf(found: readonly ReadyWebhook[], request: TakeRequest): Map<bigint, Share> {
  const shares = new Map<bigint, Share>();
  for (const [accountId, webhooks] of Map.groupBy(found, (webhook) => webhook.accountId)) {
    const pace = paceOf(Number(webhooks[0]?.pacedUntil ?? 0n), request);
    const first = request.round % webhooks.length;
    let left = Math.min(pace.allowed, takenByAccount(request, accountId));
    for (const [at, webhook] of [...webhooks.slice(first), ...webhooks.slice(0, first)].entries()) {
      const most = Math.min(takenBy(request, webhook.id), Math.ceil(left / (webhooks.length - at)));
      left -= most;
      shares.set(webhook.id, { most, pace });
    }
  }
  return shares;
}

/** The paces of the accounts of these leases, after them. */
export function pacesAfter(taken: readonly TakenDelivery[], shares: ReadonlyMap<bigint, Share>) {
  return [...Map.groupBy(taken, ({ accountId }) => accountId)].flatMap(([accountId, leased]) => {
    const pace = shares.get(leased[0]?.webhookId ?? 0n)?.pace;
    if (pace === undefined) return [];
    const pacedUntil = pace.from + leased.length * pace.interval;
    return [{ accountId, pacedUntil, isUsedUp: leased.length >= pace.allowed }];
  });
}

/** Selects events that may become deliveries: events of these types after the id `after`. */
interface Portion {
  readonly after: bigint;
  readonly types: readonly string[];
  /** Whether these events were queued before, so that some may still have a pending delivery. */
  readonly isAgain: boolean;
}

/** `oldest` is the id of the oldest retained event. */
export function portionOf(
  { position, types, redeliveringTo }: Pick<ReadyWebhook, 'position' | 'types' | 'redeliveringTo'>,
  { oldest }: { readonly oldest: bigint },
): Portion {
  const after = position < oldest - 1n ? oldest - 1n : position;
  const isAgain = redeliveringTo !== null && position < redeliveringTo;
  return { after, types: [...selectedTypes(types.split(' ') as EventSelector[])], isAgain };
}

/** Number of events that expired between two positions. A gap in the ids after a restore counts as one event. */
export function expiredBetween(position: bigint, after: bigint): bigint {
  return after - position >= BigInt(restoreGap) ? 1n : after - position;
}

export function takenOf(row: LeasedRow, webhook: ReadyWebhook, leasedUntil: number): TakenDelivery {
  const { url, secret, formerSecret, formerSecretUntil } = webhook;
  const accountId = Number(webhook.accountId);
  const until = formerSecretUntil === null ? null : Number(formerSecretUntil);
  const message = { ...row, createdAt: Number(row.createdAt), leasedUntil };
  return { ...message, accountId, url, secret, formerSecret, formerSecretUntil: until };
}

/**
 * If this round found its maximum number of webhooks, the next round starts after the last of them. Otherwise, the next
 * round starts at the first webhook.
 */
export function nextRound(
  found: readonly Pick<ReadyWebhook, 'id' | 'isBehind' | 'position'>[],
  after: bigint,
  last: bigint,
): Pick<Taken, 'after' | 'isMore'> {
  const isFull = found.length === atOnce.webhooks;
  const behind = found.filter(({ isBehind }) => isBehind);
  const portion = BigInt(portionLength(behind.length));
  const isQueued = behind.some(({ position }) => position + portion < last);
  return {
    after: isFull ? (found.at(-1)?.id ?? 0n) : 0n,
    isMore: isFull || after > 0n || isQueued,
  };
}
