import type { Awaitable } from '../../../domain/awaitable.ts';
import {
  burstMicroseconds,
  eventBatchSize,
  type LeaseRequest,
  type LeaseResult,
  leaseLimits,
  maxPacedUntil,
  type SettledDelivery,
} from '../../../domain/delivery.ts';
import { deliveries } from '../../../tables/webhooks.ts';
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
import { createDeliveryWrites } from '../../queries/deliveries.ts';
import { postgresDialect } from '../../queries/engine.ts';
import type { DeliveryWrites } from '../../transaction.ts';
import { PostgresEngine } from '../engine.ts';
import type { Statements } from '../statements.ts';
import { PostgresEntity } from './entity.ts';

const sendingConditions = sendingSql(postgresDialect, 'clock.now');

interface ReadyRow extends ReadyWebhook {
  readonly last: bigint;
  readonly oldest: bigint;
}

export function deliveryWrites(statements: Statements): DeliveryWrites {
  const engine = new PostgresEngine(statements);
  return Object.assign(new Deliveries(statements), createDeliveryWrites(engine));
}

/**
 * Sends independent statements in one batch, because round trips limit the number of deliveries that a process can start
 * per second.
 */
class Deliveries extends PostgresEntity<typeof deliveries> {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    super(deliveries, statements);
    this.#statements = statements;
  }

  async lockCounter({ now, full }: LeaseRequest): Promise<boolean> {
    const rows = await this.#statements.run<unknown[]>(
      (sql) => sql`
        SELECT FROM counters WHERE name = 'deliveries' AND EXISTS (
          SELECT FROM webhooks CROSS JOIN (SELECT ${now}::bigint AS now) AS clock
          WHERE enabled AND position < (SELECT last FROM counters WHERE name = 'events')
            AND webhooks.id NOT IN (SELECT json_array_elements_text(${`[${full.join()}]`}::text::json)::bigint)
            AND ${sql.unsafe(sendingConditions.isAnyReadable)}
        ) FOR UPDATE`,
    );
    return rows.length > 0;
  }

  async lease(request: LeaseRequest, isLocked: Awaitable<boolean>): Promise<LeaseResult> {
    const { now, leasedUntil, room } = request;
    const found = await this.#ready(request);
    const behind = found.filter(({ isBehind }) => isBehind);
    // Events may have been added since the first statement.
    const isTooLate = behind.length > 0 && !(await isLocked);
    const shares = divideLeases(found, request);
    const last = found[0]?.last ?? 0n;
    const [expired, leased] = await Promise.all([
      isTooLate ? 0 : this.#queue(behind, now),
      found.length > 0 && room > 0 ? this.#lease(found, request, shares) : [],
    ]);
    const deliveries = leased.flatMap((row) => {
      const webhook = found.find(({ id }) => id === row.webhookId);
      return webhook === undefined ? [] : [toLeasedDelivery(row, webhook, leasedUntil)];
    });
    return {
      deliveries,
      ...nextRound(found, leased, request, { last, shares }),
      ...(isTooLate ? { isMore: true, isBehind: true } : {}),
      full: findFull(found, last, request),
      expired,
      isPaced: updatedPaces(deliveries, shares).some(({ isUsedUp }) => isUsedUp),
    };
  }

  async settle(settled: readonly SettledDelivery[]): Promise<bigint[]> {
    const succeeded = new Map<bigint, number>();
    for (const { webhookId, status, finishedAt } of settled)
      if (status === 'succeeded' && finishedAt !== null) succeeded.set(webhookId, finishedAt);
    const recorded = succeeded.size > 0 ? this.#recordSuccess(succeeded) : undefined;
    const rows = JSON.stringify(
      settled.map((one) => ({ ...one, id: String(one.id), webhookId: String(one.webhookId) })),
    );
    const stored = this.#statements.run<{ id: bigint }[]>(
      (sql) => sql`
        WITH settled AS (
          SELECT settled.* FROM json_to_recordset(${rows}::text::json) AS settled
            (id bigint, "leasedUntil" bigint, status text, attempts text, "nextAttemptAt" bigint, "finishedAt" bigint)
          JOIN deliveries ON deliveries.id = settled.id AND deliveries.status = 'pending'
            AND deliveries.leased_until = settled."leasedUntil"
        ), free AS (
          SELECT deliveries.id FROM deliveries JOIN settled ON deliveries.id = settled.id
            AND deliveries.status = 'pending' AND deliveries.leased_until = settled."leasedUntil"
          FOR UPDATE OF deliveries SKIP LOCKED
        ), stored AS (
          UPDATE deliveries SET status = settled.status, attempts = settled.attempts,
            next_attempt_at = settled."nextAttemptAt", finished_at = settled."finishedAt", leased_until = NULL
          FROM settled JOIN free ON free.id = settled.id WHERE deliveries.id = free.id
        )
        SELECT id FROM settled WHERE id NOT IN (SELECT id FROM free)`,
    );
    const [locked] = await Promise.all([stored, recorded]);
    return [...locked].map(({ id }) => id);
  }

  /**
   * Finds and locks webhooks that are ready, and the paces of their accounts. Skips webhooks of accounts that another
   * process has locked, because that process sends their deliveries. If the row was changed since the statement began,
   * PostgreSQL evaluates `position` again, but not the subquery `pending`.
   */
  #ready(request: LeaseRequest): Promise<ReadyRow[]> {
    const { after, now, room, full } = request;
    return this.#statements.run(
      (sql) => sql`
        SELECT webhooks.id, webhooks.account_id AS "accountId", url, types, secret, former_secret AS "formerSecret",
          former_secret_until AS "formerSecretUntil", position, redelivering_to AS "redeliveringTo", last, oldest,
          is_behind AND position < last AS "isBehind", ${sql.unsafe(sendingConditions.sendable)} AS sendable,
          paced_until AS "pacedUntil"
        FROM webhooks
        JOIN webhook_paces ON webhook_paces.account_id = webhooks.account_id
        CROSS JOIN (SELECT ${now}::bigint AS now) AS clock
        CROSS JOIN LATERAL (
          SELECT last, coalesce((SELECT min(id) FROM events), last + 1) AS oldest FROM counters WHERE name = 'events'
        ) AS bounds
        CROSS JOIN (SELECT ${occupiedJson(request)}::text::json AS list) AS occupied
        CROSS JOIN LATERAL (
          SELECT webhooks.id NOT IN (SELECT json_array_elements_text(${`[${full.join()}]`}::text::json)::bigint) AS is_examined
        ) AS examined
        CROSS JOIN LATERAL (
          SELECT CASE WHEN position < last AND is_examined THEN coalesce(${sql.unsafe(sendingConditions.hasRoom)}, false)
            ELSE false END AS is_behind OFFSET 0
        ) AS pending
        WHERE webhooks.id > ${after} AND enabled AND (
          (is_examined AND position < last AND ${sql.unsafe(sendingConditions.isAnyReadable)}) OR (
            (paced_until <= ${maxPacedUntil(request)}::bigint OR paced_until > clock.now * 1000 + ${burstMicroseconds}::bigint)
            AND ${room}::bigint > 0
            AND webhooks.account_id NOT IN (SELECT json_array_elements_text(list -> 'accounts')::bigint)
            AND webhooks.id NOT IN (SELECT json_array_elements_text(list -> 'webhooks')::bigint)
            AND (webhooks.id IN (SELECT json_array_elements_text(list -> 'held')::bigint) OR NOT EXISTS (
              SELECT FROM deliveries WHERE webhook_id = webhooks.id AND leased_until > clock.now))
            AND ${sql.unsafe(sendingConditions.isAnyDue)}))
        ORDER BY webhooks.id LIMIT ${leaseLimits.webhooks} FOR NO KEY UPDATE OF webhooks, webhook_paces SKIP LOCKED`,
    );
  }

  /** Creates deliveries for some of the events. Returns the number of expired events. */
  async #queue(behind: readonly ReadyRow[], now: number): Promise<number> {
    if (behind.length === 0) return 0;
    const portions = behind.map((webhook) => ({ webhook, ...selectEvents(webhook, webhook) }));
    const rows = JSON.stringify(
      portions.map(({ webhook: { id, accountId, last }, after, types, isAgain }) => {
        return { id: `${id}`, accountId: `${accountId}`, types, after: `${after}`, last: `${last}`, isAgain };
      }),
    );
    await this.#statements.run(
      (sql) => sql`
        WITH chosen AS (
          SELECT id, "accountId" AS account_id, types, after, coalesce((
            SELECT id FROM events WHERE id > after ORDER BY id OFFSET ${eventBatchSize(behind.length) - 1} LIMIT 1
          ), last) AS until, CASE WHEN "isAgain" THEN ARRAY(
            SELECT event_id FROM deliveries
            WHERE webhook_id = portion.id AND status = 'pending' AND event_id > portion.after
          ) ELSE '{}' END AS pending
          FROM json_to_recordset(${rows}::text::json)
            AS portion (id bigint, "accountId" bigint, types json, after bigint, last bigint, "isAgain" boolean)
        ), wanted AS (
          SELECT chosen.id AS webhook_id, event.id AS event_id, event.type FROM chosen CROSS JOIN LATERAL (
            SELECT id, type FROM events
            WHERE id > chosen.after AND id <= chosen.until AND (account_id IS NULL OR account_id = chosen.account_id)
              AND type IN (SELECT json_array_elements_text(chosen.types)) AND id <> ALL (chosen.pending)
            OFFSET 0
          ) AS event
        ), counted AS (
          UPDATE counters SET last = last + (SELECT count(*) FROM wanted)
          WHERE name = 'deliveries' AND EXISTS (SELECT FROM wanted)
          RETURNING last - (SELECT count(*) FROM wanted) AS before
        ), added AS (
          INSERT INTO deliveries (id, webhook_id, event_id, type, status, attempts, next_attempt_at, created_at)
          SELECT before + row_number() OVER (ORDER BY event_id, webhook_id), webhook_id, event_id, type, 'pending', '[]',
            ${now}::bigint, ${now}::bigint
          FROM counted, wanted
        )
        UPDATE webhooks SET position = greatest(position, chosen.until) FROM chosen WHERE webhooks.id = chosen.id`,
    );
    return portions.reduce(
      (sum, { webhook, after }) => sum + Number(countExpired(webhook.position, after)),
      0,
    );
  }

  /**
   * Leases due deliveries and advances the paces of their accounts. Runs as a separate statement after the lock, because
   * only later statements see the leases of the previous lock holder.
   */
  async #lease(
    found: readonly ReadyRow[],
    { now, leasedUntil, room, inFlight }: LeaseRequest,
    shares: ReturnType<typeof divideLeases>,
  ): Promise<LeasedRow[]> {
    const held = new Set(inFlight.map(({ webhookId }) => webhookId));
    const webhooks = JSON.stringify(
      found.map((webhook) => {
        const { id, accountId } = webhook;
        const { most = 0, pace } = shares.get(id) ?? {};
        const paced = { from: pace?.from, interval: pace?.interval };
        return {
          id: `${id}`,
          account: `${accountId}`,
          most,
          isHeld: held.has(id),
          scopes: parseSendableScopes(webhook),
          ...paced,
        };
      }),
    );
    const rows = await this.#statements.run<LeasedRow[]>(
      (sql) => sql`
        WITH chosen AS MATERIALIZED (
          SELECT due.id, webhook.account, webhook."from", webhook."interval"
          FROM json_to_recordset(${webhooks}::text::json)
            AS webhook (id bigint, account bigint, most bigint, "isHeld" boolean, scopes json, "from" bigint, "interval" bigint)
          CROSS JOIN LATERAL (
            SELECT next.id
            FROM json_array_elements_text(webhook.scopes) AS readable (scope)
            CROSS JOIN LATERAL (
              SELECT id, next_attempt_at FROM deliveries
              WHERE webhook_id = webhook.id AND status = 'pending' AND ${sql.unsafe(deliveryScopeSql)} = readable.scope
                AND next_attempt_at <= ${now}
              ORDER BY next_attempt_at, deliveries.id LIMIT webhook.most FOR UPDATE SKIP LOCKED
            ) AS next
            ORDER BY next_attempt_at, next.id
            LIMIT CASE WHEN webhook."isHeld" OR NOT EXISTS (
              SELECT FROM deliveries WHERE webhook_id = webhook.id AND leased_until > ${now}
            ) THEN webhook.most ELSE 0 END
          ) AS due LIMIT ${room}
        ), paced AS (
          UPDATE webhook_paces SET paced_until = used."from" + used.count * used."interval"
          FROM (SELECT account, "from", "interval", count(*) FROM chosen GROUP BY 1, 2, 3) AS used
          WHERE account_id = used.account
        )
        UPDATE deliveries SET leased_until = clock.until,
          next_attempt_at = ${sql.unsafe(dueAfterCrashSql(postgresDialect, 'clock.now', 'clock.until'))}
        FROM (SELECT ${now}::bigint AS now, ${leasedUntil}::bigint AS until) AS clock
        WHERE id = ANY (ARRAY(SELECT id FROM chosen))
        RETURNING id, webhook_id AS "webhookId", event_id AS "eventId", type, attempts, created_at AS "createdAt"`,
    );
    return [...rows].sort((one, other) => Number(one.id - other.id));
  }

  /** Skips webhooks that another transaction has locked. The time is approximate. */
  async #recordSuccess(succeeded: ReadonlyMap<bigint, number>): Promise<void> {
    const rows = JSON.stringify([...succeeded].map(([id, at]) => ({ id: String(id), at })));
    await this.#statements.run(
      (sql) => sql`
        WITH locked AS (
          SELECT webhooks.id, at
          FROM webhooks JOIN json_to_recordset(${rows}::text::json) AS one (id bigint, at bigint) USING (id)
          WHERE coalesce(succeeded_at, 0) < at - ${successPrecisionMs} ORDER BY id
          FOR NO KEY UPDATE OF webhooks SKIP LOCKED
        )
        UPDATE webhooks SET succeeded_at = at FROM locked WHERE webhooks.id = locked.id`,
    );
  }
}
