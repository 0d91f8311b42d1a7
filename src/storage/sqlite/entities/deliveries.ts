import type { Database } from 'bun:sqlite';
import type { Awaitable } from '../../../domain/awaitable.ts';
import {
  burstMicroseconds,
  type DeliveryBacklog,
  eventBatchSize,
  type LeasedDelivery,
  type LeaseRequest,
  type LeaseResult,
  leaseLimits,
  maxCountedPending,
  maxPacedUntil,
  maxWebhooksRead,
  type SendableEvents,
  type SettledDelivery,
} from '../../../domain/delivery.ts';
import { eventScopes } from '../../../domain/event-type.ts';
import type { Scope } from '../../../domain/scope.ts';
import type { SqlValue } from '../../../tables/table.ts';
import { deletedWebhookOwner, deliveries } from '../../../tables/webhooks.ts';
import {
  countExpired,
  deliveryScopeSql,
  dueAfterCrashSql,
  findFull,
  type LeasedRow,
  parseSendableScopes,
  type ReadyWebhook,
  selectEvents,
  sendingSql,
  successPrecisionMs,
  toLeasedDelivery,
} from '../../delivery-row.ts';
import { divideLeases, nextRound, occupiedJson, updatedPaces } from '../../lease-rounds.ts';
import { createDeliveryWrites, deliveryStatements, readSendable } from '../../queries/deliveries.ts';
import { sqliteDialect } from '../../queries/engine.ts';
import type { DeliveryStore } from '../../storage.ts';
import type { DeliveryWrites } from '../../transaction.ts';
import { SqliteEngine } from '../engine.ts';
import { type MarkChanged, type RunRead, SqliteEntity } from './entity.ts';

const { pending: pendingOf, hasRoom, isAnyReadable, isAnyDue, sendable } = sendingSql(sqliteDialect, '?3');
const isExamined = 'position < ?2 AND id NOT IN (SELECT value FROM json_each(?8))';
const isBehind = `${isExamined} AND ${hasRoom}`;
const isLeased = 'EXISTS (SELECT 1 FROM deliveries WHERE webhook_id = webhooks.id AND leased_until > ?3)';
const hasPace = `(paced_until <= ?7 OR paced_until > ?3 * 1000 + ${burstMicroseconds})`;
const isListed = (column: string, list: string) =>
  `${column} IN (SELECT value FROM json_each(?6, '$.${list}'))`;
const mayBeTaken = `?4 > 0 AND NOT ${isListed('webhooks.account_id', 'accounts')} AND NOT ${isListed('id', 'webhooks')}
  AND (${isListed('id', 'held')} OR NOT ${isLeased})`;

export class SqliteDeliveries extends SqliteEntity<typeof deliveries> implements DeliveryStore {
  readonly #oldest;
  readonly #pending;
  readonly #deleted;
  readonly #engine;

  constructor(database: Database, read: RunRead) {
    super(database, deliveries, { read });
    this.#oldest = database.query<{ oldestAt: bigint | null }, []>(
      `SELECT min((SELECT created_at ${pendingOf} ORDER BY id LIMIT 1)) AS oldestAt
       FROM (SELECT id FROM webhooks WHERE enabled = 1 ORDER BY id LIMIT ${maxWebhooksRead}) AS webhooks`,
    );
    this.#engine = new SqliteEngine(database, read);
    this.#pending = this.prepare(
      `SELECT 1 FROM deliveries WHERE status = 'pending' LIMIT ${maxCountedPending}`,
    );
    this.#deleted = this.prepare(
      `SELECT 1 FROM webhooks JOIN deliveries ON webhook_id = webhooks.id AND status = 'pending'
       WHERE account_id = ${deletedWebhookOwner} LIMIT ${maxCountedPending}`,
    );
  }

  backlog(): DeliveryBacklog {
    return this.read(() => {
      const [row] = this.#oldest.all();
      const oldestAt = row?.oldestAt == null ? undefined : Number(row.oldestAt);
      const pending = this.#pending.all().length - this.#deleted.all().length;
      return { pending: Math.max(pending, 0), oldestAt };
    });
  }

  sendable(accountIds: readonly number[], now: number): Awaitable<SendableEvents[]> {
    return readSendable(this.#engine, accountIds, now);
  }
}

export function deliveryWrites(database: Database, touch: MarkChanged): DeliveryWrites {
  const engine = new SqliteEngine(database);
  engine.prepare(deliveryStatements(engine));
  return Object.assign(new Deliveries(database, touch), createDeliveryWrites(engine));
}

class Deliveries extends SqliteEntity<typeof deliveries> {
  readonly #statements;

  constructor(database: Database, touch: MarkChanged) {
    super(database, deliveries, { touch });
    this.#statements = statementsOf(database);
  }

  lockCounter(): boolean {
    return true;
  }

  lease(request: LeaseRequest): LeaseResult {
    const { now, leasedUntil, room, after, full } = request;
    const bounds = this.#bounds();
    const found = this.#statements.ready.all(
      ...[after, bounds.last, now, room, leaseLimits.webhooks],
      // Ids may exceed the safe integers of JavaScript.
      ...[occupiedJson(request), maxPacedUntil(request), `[${full.join()}]`],
    );
    const shares = divideLeases(found, request);
    const taken: LeasedDelivery[] = [];
    const portion = eventBatchSize(found.filter(({ isBehind }) => isBehind).length);
    let expired = 0n;
    for (const webhook of found) {
      if (webhook.isBehind) expired += this.#queue(webhook, { ...bounds, portion }, now);
      const most = webhook.mayBeTaken ? (shares.get(webhook.id)?.most ?? 0) : 0;
      const left = Math.min(room - taken.length, most);
      if (left <= 0) continue;
      const scopes = JSON.stringify(parseSendableScopes(webhook));
      const leased = this.#statements.lease.all(webhook.id, now, leasedUntil, left, scopes);
      leased.sort((one, other) => Number(one.id - other.id));
      taken.push(...leased.map((row) => toLeasedDelivery(row, webhook, leasedUntil)));
    }
    const paces = updatedPaces(taken, shares);
    for (const { accountId, pacedUntil } of paces) this.#statements.pace.run(accountId, pacedUntil);
    return {
      deliveries: taken,
      ...nextRound(found, taken, request, { last: bounds.last, shares }),
      full: findFull(found, bounds.last, request),
      expired: Number(expired),
      isPaced: paces.some(({ isUsedUp }) => isUsedUp),
    };
  }

  settle(settled: readonly SettledDelivery[]): bigint[] {
    const { settle, succeeded } = this.#statements;
    for (const { id, webhookId, leasedUntil, status, attempts, nextAttemptAt, finishedAt } of settled) {
      settle.run(id, leasedUntil, status, attempts, nextAttemptAt, finishedAt);
      if (status === 'succeeded' && finishedAt !== null) succeeded.run(webhookId, finishedAt);
    }
    return [];
  }

  #bounds() {
    const [row] = this.#statements.bounds.all();
    const last = row?.last ?? 0n;
    return { last, oldest: row?.oldest ?? last + 1n };
  }

  /** Creates deliveries for some of the events. Returns the number of events that had expired. */
  #queue(
    webhook: ReadyWebhook,
    bounds: { oldest: bigint; last: bigint; portion: number },
    now: number,
  ): bigint {
    const { id, accountId, position } = webhook;
    const { after, types, isAgain } = selectEvents(webhook, bounds);
    const until = this.#statements.portionEnd.get(after, bounds.portion - 1)?.id ?? bounds.last;
    this.#statements.queue.run(id, now, after, until, accountId, JSON.stringify(types), isAgain ? 1 : 0);
    this.#statements.move.run(id, until);
    return countExpired(position, after);
  }
}

/** The deliveries to lease next, of those whose events require a scope. */
function dueOf(scope: Scope): string {
  return `SELECT * FROM (
    SELECT id, next_attempt_at FROM deliveries
    WHERE webhook_id = ?1 AND status = 'pending' AND ${deliveryScopeSql} = '${scope}' AND next_attempt_at <= ?2
      AND EXISTS (SELECT 1 FROM json_each(?5) WHERE value = '${scope}')
    ORDER BY next_attempt_at LIMIT ?4)`;
}

function statementsOf(database: Database) {
  return {
    bounds: database.query<{ last: bigint | null; oldest: bigint | null }, []>(
      `SELECT (SELECT last FROM counters WHERE name = 'events') AS last, (SELECT min(id) FROM events) AS oldest`,
    ),
    ready: database.query<ReadyWebhook & { readonly mayBeTaken: bigint }, SqlValue[]>(
      `SELECT id, webhooks.account_id AS accountId, url, types, secret, former_secret AS formerSecret,
              former_secret_until AS formerSecretUntil, position, redelivering_to AS redeliveringTo,
              (${isBehind}) AS isBehind, (${mayBeTaken}) AS mayBeTaken, ${sendable} AS sendable, paced_until AS pacedUntil
       FROM webhooks CROSS JOIN webhook_paces USING (account_id)
       WHERE id > ?1 AND enabled = 1
         AND ((${isExamined} AND ${isAnyReadable}) OR (${hasPace} AND ${mayBeTaken} AND ${isAnyDue}))
       ORDER BY id LIMIT ?5`,
    ),
    portionEnd: database.query<{ id: bigint }, [bigint, number]>(
      'SELECT id FROM events WHERE id > ?1 ORDER BY id LIMIT 1 OFFSET ?2',
    ),
    queue: database.query<never, SqlValue[]>(
      `INSERT INTO deliveries (webhook_id, event_id, type, status, attempts, next_attempt_at, created_at)
       SELECT ?1, id, type, 'pending', '[]', ?2, ?2 FROM events
       WHERE id > ?3 AND id <= ?4 AND (account_id IS NULL OR account_id = ?5)
         AND type IN (SELECT value FROM json_each(?6))
         AND (?7 = 0 OR id NOT IN (SELECT event_id FROM deliveries WHERE webhook_id = ?1 AND status = 'pending'))
       ORDER BY id`,
    ),
    move: database.query<never, SqlValue[]>('UPDATE webhooks SET position = ?2 WHERE id = ?1'),
    lease: database.query<LeasedRow, SqlValue[]>(
      `UPDATE deliveries SET leased_until = ?3, next_attempt_at = ${dueAfterCrashSql(sqliteDialect, '?2', '?3')} WHERE id IN (
         SELECT id FROM (${eventScopes.map(dueOf).join(' UNION ALL ')}) ORDER BY next_attempt_at LIMIT ?4)
       RETURNING id, webhook_id AS webhookId, event_id AS eventId, type, attempts, created_at AS createdAt`,
    ),
    settle: database.query<never, SqlValue[]>(
      `UPDATE deliveries SET status = ?3, attempts = ?4, next_attempt_at = ?5, finished_at = ?6, leased_until = NULL
       WHERE id = ?1 AND status = 'pending' AND leased_until = ?2`,
    ),
    succeeded: database.query<never, SqlValue[]>(
      `UPDATE webhooks SET succeeded_at = ?2 WHERE id = ?1 AND coalesce(succeeded_at, 0) < ?2 - ${successPrecisionMs}`,
    ),
    pace: database.query<never, SqlValue[]>(
      'UPDATE webhook_paces SET paced_until = ?2 WHERE account_id = ?1',
    ),
  };
}
