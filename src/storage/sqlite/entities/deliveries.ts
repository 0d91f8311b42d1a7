import type { Database } from 'bun:sqlite';
import {
  atOnce,
  type DeliveryBacklog,
  maxCountedPending,
  maxPending,
  maxWebhooksRead,
  portionLength,
  type SettledDelivery,
  type Taken,
  type TakenDelivery,
  type TakeRequest,
  takenBy,
} from '../../../domain/delivery.ts';
import type { SqlValue } from '../../../tables/table.ts';
import { deletedWebhookOwner, deliveries } from '../../../tables/webhooks.ts';
import {
  deliveryBatch,
  type LeasedRow,
  nextRound,
  portionOf,
  type ReadyWebhook,
  successEveryMs,
  takenOf,
  withdrawalBatch,
} from '../../delivery-row.ts';
import type { DeliveryStore } from '../../storage.ts';
import type { DeliveryWrites, SweptTo } from '../../transaction.ts';
import { type ReadIn, SqliteEntity, type Touch } from './entity.ts';

const pendingOf = "FROM deliveries WHERE webhook_id = webhooks.id AND status = 'pending'";
const isBehind = `position < ?2 AND (SELECT 1 ${pendingOf} LIMIT 1 OFFSET ${maxPending - 1}) IS NULL`;
const isDue = `EXISTS (SELECT 1 ${pendingOf} AND next_attempt_at <= ?3)`;
const isLeased = 'EXISTS (SELECT 1 FROM deliveries WHERE webhook_id = webhooks.id AND leased_until > ?3)';
const mayBeTaken = `coalesce(?6 ->> ('$."' || id || '"') > 0, ?4 > 0 AND NOT ${isLeased})`;

export class SqliteDeliveries extends SqliteEntity<typeof deliveries> implements DeliveryStore {
  readonly #oldest;
  readonly #pending;
  readonly #deleted;

  constructor(database: Database, read: ReadIn) {
    super(database, deliveries, { read });
    this.#oldest = database.query<{ oldestAt: bigint | null }, []>(
      `SELECT min((SELECT created_at ${pendingOf} ORDER BY id LIMIT 1)) AS oldestAt
       FROM (SELECT id FROM webhooks WHERE enabled = 1 ORDER BY id LIMIT ${maxWebhooksRead}) AS webhooks`,
    );
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
}

export class SqliteDeliveryWrites extends SqliteEntity<typeof deliveries> implements DeliveryWrites {
  readonly #statements;

  constructor(database: Database, touch: Touch) {
    super(database, deliveries, { touch });
    this.#statements = statementsOf(database);
  }

  take(request: TakeRequest): Taken {
    const { now, leasedUntil, room, after, held } = request;
    const bounds = this.#bounds();
    const found = this.#statements.ready.all(
      ...[after, bounds.last, now, room, atOnce.webhooks, JSON.stringify(held)],
    );
    const taken: TakenDelivery[] = [];
    const portion = portionLength(found.filter(({ isBehind }) => isBehind).length);
    let expired = 0n;
    for (const webhook of found) {
      if (webhook.isBehind) expired += this.#queue(webhook, { ...bounds, portion }, now);
      const left = Math.min(room - taken.length, webhook.mayBeTaken ? takenBy(request, webhook.id) : 0);
      if (left <= 0) continue;
      const leased = this.#statements.lease.all(webhook.id, now, leasedUntil, left);
      leased.sort((one, other) => Number(one.id - other.id));
      taken.push(...leased.map((row) => takenOf(row, webhook, leasedUntil)));
    }
    return { deliveries: taken, ...nextRound(found, after, bounds.last), expired: Number(expired) };
  }

  settle(settled: readonly SettledDelivery[]): void {
    const { settle, succeeded } = this.#statements;
    for (const { id, webhookId, leasedUntil, status, attempts, nextAttemptAt, finishedAt } of settled) {
      settle.run(id, leasedUntil, status, attempts, nextAttemptAt, finishedAt);
      if (status === 'succeeded' && finishedAt !== null) succeeded.run(webhookId, finishedAt);
    }
  }

  release(now: number): boolean {
    return this.#statements.release.run(now).changes === deliveryBatch;
  }

  withdraw(webhookId: bigint, after: bigint): void {
    this.#statements.withdraw.run(webhookId, after);
  }

  sweep(): SweptTo | undefined {
    const { deleted, sweep, remove } = this.#statements;
    const [webhook] = deleted.all();
    if (webhook === undefined) return undefined;
    if (sweep.run(webhook.id).changes < deliveryBatch) remove.run(webhook.id);
    return { webhookId: webhook.id, status: '', id: 0n };
  }

  prune(before: number): boolean {
    return this.#statements.prune.run(before).changes === deliveryBatch;
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
    const { after, types } = portionOf(webhook, bounds);
    const until = this.#statements.portionEnd.get(after, bounds.portion - 1)?.id ?? bounds.last;
    this.#statements.queue.run(id, now, after, until, accountId, JSON.stringify(types));
    this.#statements.move.run(id, until);
    return after - position;
  }
}

function statementsOf(database: Database) {
  return {
    bounds: database.query<{ last: bigint | null; oldest: bigint | null }, []>(
      `SELECT (SELECT last FROM counters WHERE name = 'events') AS last, (SELECT min(id) FROM events) AS oldest`,
    ),
    ready: database.query<ReadyWebhook & { readonly mayBeTaken: bigint }, SqlValue[]>(
      `SELECT id, account_id AS accountId, url, types, secret, former_secret AS formerSecret,
              former_secret_until AS formerSecretUntil, position, (${isBehind}) AS isBehind, ${mayBeTaken} AS mayBeTaken
       FROM webhooks WHERE id > ?1 AND enabled = 1 AND (${isBehind} OR (${isDue} AND ${mayBeTaken})) ORDER BY id LIMIT ?5`,
    ),
    portionEnd: database.query<{ id: bigint }, [bigint, number]>(
      'SELECT id FROM events WHERE id > ?1 ORDER BY id LIMIT 1 OFFSET ?2',
    ),
    queue: database.query<never, SqlValue[]>(
      `INSERT INTO deliveries (webhook_id, event_id, type, status, attempts, next_attempt_at, created_at)
       SELECT ?1, id, type, 'pending', '[]', ?2, ?2 FROM events
       WHERE id > ?3 AND id <= ?4 AND (account_id IS NULL OR account_id = ?5)
         AND type IN (SELECT value FROM json_each(?6)) ORDER BY id`,
    ),
    move: database.query<never, SqlValue[]>('UPDATE webhooks SET position = ?2 WHERE id = ?1'),
    lease: database.query<LeasedRow, SqlValue[]>(
      `UPDATE deliveries SET leased_until = ?3, next_attempt_at = ?3 WHERE id IN (
         SELECT id FROM deliveries WHERE webhook_id = ?1 AND status = 'pending' AND next_attempt_at <= ?2
         ORDER BY next_attempt_at LIMIT ?4)
       RETURNING id, webhook_id AS webhookId, event_id AS eventId, attempts, created_at AS createdAt`,
    ),
    settle: database.query<never, SqlValue[]>(
      `UPDATE deliveries SET status = ?3, attempts = ?4, next_attempt_at = ?5, finished_at = ?6, leased_until = NULL
       WHERE id = ?1 AND status = 'pending' AND leased_until = ?2`,
    ),
    succeeded: database.query<never, SqlValue[]>(
      `UPDATE webhooks SET succeeded_at = ?2 WHERE id = ?1 AND coalesce(succeeded_at, 0) < ?2 - ${successEveryMs}`,
    ),
    release: database.query<never, SqlValue[]>(
      `UPDATE deliveries SET leased_until = NULL, next_attempt_at = ?1 WHERE id IN (
         SELECT id FROM deliveries WHERE leased_until IS NOT NULL LIMIT ${deliveryBatch})`,
    ),
    withdraw: database.query<never, SqlValue[]>(
      `DELETE FROM deliveries WHERE id IN (
         SELECT id FROM deliveries
         WHERE webhook_id = ?1 AND status = 'pending' AND event_id > ?2 AND leased_until IS NULL
         LIMIT ${withdrawalBatch})`,
    ),
    deleted: database.query<{ id: bigint }, []>(
      `SELECT id FROM webhooks WHERE account_id = ${deletedWebhookOwner} ORDER BY id LIMIT 1`,
    ),
    sweep: database.query<never, SqlValue[]>(
      `DELETE FROM deliveries WHERE id IN (
         SELECT id FROM deliveries WHERE webhook_id = ?1 LIMIT ${deliveryBatch})`,
    ),
    remove: database.query<never, SqlValue[]>('DELETE FROM webhooks WHERE id = ?1'),
    prune: database.query<never, SqlValue[]>(
      `DELETE FROM deliveries WHERE id IN (
         SELECT id FROM deliveries WHERE finished_at < ?1 ORDER BY finished_at LIMIT ${deliveryBatch})`,
    ),
  };
}
