import {
  atOnce,
  burstMicroseconds,
  latestPaced,
  maxPending,
  portionLength,
  type RescheduleRequest,
  type SettledDelivery,
  type Taken,
  type TakeRequest,
} from '../../../domain/delivery.ts';
import { deletedWebhookOwner, deliveries } from '../../../tables/webhooks.ts';
import {
  deliveryBatch,
  deliveryScope,
  expiredBetween,
  type LeasedRow,
  maxHastened,
  missingPaces,
  mistimedSql,
  nextRound,
  pacesAfter,
  portionOf,
  type ReadyWebhook,
  type StandingRow,
  scopesOf,
  sendingSql,
  sharesOf,
  standingOf,
  successEveryMs,
  takenOf,
} from '../../delivery-row.ts';
import type { DeliveryWrites, SweptTo } from '../../transaction.ts';
import type { Statements } from '../statements.ts';
import { PostgresEntity } from './entity.ts';

const sending = sendingSql('strpos', 'clock.now');
const isMistimed = mistimedSql("(attempts::json -> -1 ->> 'at')", {
  now: 'clock.iso',
  latestLease: 'clock.latest_lease',
  latestRetry: 'clock.latest_retry',
});

interface ReadyRow extends ReadyWebhook {
  readonly last: bigint;
  readonly oldest: bigint;
}

/**
 * Every transaction locks webhooks before their deliveries, to avoid deadlocks. Independent statements are sent in one
 * batch, because round trips limit the number of deliveries that a process can start per second.
 */
export class PostgresDeliveryWrites extends PostgresEntity<typeof deliveries> implements DeliveryWrites {
  readonly #statements: Statements;

  constructor(statements: Statements) {
    super(deliveries, statements);
    this.#statements = statements;
  }

  async take(request: TakeRequest): Promise<Taken> {
    const { now, leasedUntil, room, after, waiting } = request;
    const [found, standing] = await Promise.all([
      this.#ready(request),
      waiting.length > 0 ? this.#standing(request) : [],
    ]);
    const behind = found.filter(({ isBehind }) => isBehind);
    const shares = sharesOf(found, request);
    const [expired, leased] = await Promise.all([
      this.#queue(behind, now),
      found.length > 0 && room > 0 ? this.#lease(found, request, shares) : [],
    ]);
    const deliveries = leased.flatMap((row) => {
      const webhook = found.find(({ id }) => id === row.webhookId);
      return webhook === undefined ? [] : [takenOf(row, webhook, leasedUntil)];
    });
    return {
      deliveries,
      ...nextRound(found, after, found[0]?.last ?? 0n),
      expired,
      isPaced: pacesAfter(deliveries, shares).some(({ isUsedUp }) => isUsedUp),
      standing: standingOf(standing),
    };
  }

  async settle(settled: readonly SettledDelivery[]): Promise<void> {
    const succeeded = new Map<bigint, number>();
    for (const { webhookId, status, finishedAt } of settled)
      if (status === 'succeeded' && finishedAt !== null) succeeded.set(webhookId, finishedAt);
    const recorded = succeeded.size > 0 ? this.#recordSuccess(succeeded) : undefined;
    const rows = JSON.stringify(
      settled.map((one) => ({ ...one, id: String(one.id), webhookId: String(one.webhookId) })),
    );
    const stored = this.#statements.run(
      (sql) => sql`
        UPDATE deliveries SET status = settled.status, attempts = settled.attempts,
          next_attempt_at = settled."nextAttemptAt", finished_at = settled."finishedAt", leased_until = NULL
        FROM json_to_recordset(${rows}::text::json) AS settled
          (id bigint, "leasedUntil" bigint, status text, attempts text, "nextAttemptAt" bigint, "finishedAt" bigint)
        WHERE deliveries.id = settled.id AND deliveries.status = 'pending'
          AND deliveries.leased_until = settled."leasedUntil"`,
    );
    await Promise.all([recorded, stored]);
  }

  async addPaces(): Promise<boolean> {
    const added = await this.#statements.run<unknown[]>(
      (sql) => sql`
        INSERT INTO webhook_paces (account_id) ${sql.unsafe(missingPaces)} ON CONFLICT DO NOTHING RETURNING 1`,
    );
    return added.length === deliveryBatch;
  }

  async release(now: number): Promise<boolean> {
    const released = await this.#statements.run<unknown[]>(
      (sql) => sql`
        UPDATE deliveries SET leased_until = NULL, next_attempt_at = ${now} WHERE id = ANY (ARRAY(
          SELECT id FROM deliveries WHERE leased_until IS NOT NULL LIMIT ${deliveryBatch}
        )) RETURNING 1`,
    );
    return released.length === deliveryBatch;
  }

  async reschedule({ after, now, latestLease, latestRetry }: RescheduleRequest): Promise<bigint | undefined> {
    const iso = new Date(now).toISOString();
    const [row] = await this.#statements.run<{ last: bigint | null }[]>(
      (sql) => sql`
        WITH examined AS (
          SELECT id FROM deliveries WHERE status = 'pending' AND id > ${after} ORDER BY id LIMIT ${deliveryBatch}
        ), changed AS (
          UPDATE deliveries SET leased_until = NULL, next_attempt_at = ${now} WHERE id = ANY (ARRAY(
            SELECT id FROM deliveries CROSS JOIN (
              SELECT ${iso}::text AS iso, ${latestLease}::bigint AS latest_lease, ${latestRetry}::bigint AS latest_retry
            ) AS clock
            WHERE id = ANY (ARRAY(SELECT id FROM examined)) AND ${sql.unsafe(isMistimed)}
            FOR UPDATE OF deliveries SKIP LOCKED))
        )
        SELECT max(id) AS last FROM examined`,
    );
    return row?.last ?? undefined;
  }

  async startRedelivery(webhookId: bigint, after: bigint, now: number): Promise<boolean> {
    // Waits for the process that is creating deliveries, which has locked the row.
    await this.#statements.run((sql) => sql`SELECT FROM webhooks WHERE id = ${webhookId} FOR NO KEY UPDATE`);
    const rewound = await this.#statements.run<unknown[]>(
      (sql) => sql`
        WITH clock AS (SELECT ${now}::bigint AS now)
        UPDATE webhooks SET position = least(position, ${after}::bigint),
          redelivering_to = CASE WHEN position > ${after} THEN greatest(position, redelivering_to) ELSE redelivering_to END
        FROM clock
        WHERE id = ${webhookId} AND ${sql.unsafe(sending.isRedelivering)} IS NOT TRUE
        RETURNING id`,
    );
    if (rewound.length === 0) return false;
    await this.#statements.run(
      (sql) => sql`
        UPDATE deliveries SET next_attempt_at = ${now} WHERE id = ANY (ARRAY(
          SELECT id FROM deliveries WHERE webhook_id = ${webhookId} AND status = 'pending' AND event_id > ${after}
            AND leased_until IS NULL AND next_attempt_at > ${now} LIMIT ${maxHastened}))`,
    );
    return true;
  }

  /**
   * Skips webhooks that another process is sweeping, and deliveries that another transaction has locked. A webhook with
   * locked deliveries remains until the next sweep.
   */
  async sweep(after: SweptTo | null): Promise<SweptTo | undefined> {
    const [webhook] = await this.#statements.run<{ id: bigint }[]>(
      (sql) => sql`
        SELECT id FROM webhooks WHERE account_id = ${deletedWebhookOwner} AND id >= ${after?.webhookId ?? 0n}
        ORDER BY account_id, id LIMIT 1 FOR UPDATE SKIP LOCKED`,
    );
    if (webhook === undefined) return undefined;
    const { status, id } = after?.webhookId === webhook.id ? after : { status: '', id: 0n };
    const removed = await this.#statements.run<{ status: string; id: bigint }[]>(
      (sql) => sql`
        WITH removed AS (
          DELETE FROM deliveries WHERE id = ANY (ARRAY(
            SELECT id FROM deliveries WHERE webhook_id = ${webhook.id} AND (status, id) > (${status}::text, ${id}::bigint)
            ORDER BY webhook_id, status, id LIMIT ${deliveryBatch} FOR UPDATE SKIP LOCKED
          )) RETURNING status, id
        )
        SELECT status, id FROM removed ORDER BY status DESC, id DESC LIMIT 1`,
    );
    const [last] = removed;
    if (last !== undefined) return { webhookId: webhook.id, ...last };
    await this.#statements.run(
      (sql) => sql`
        DELETE FROM webhooks WHERE id = ${webhook.id}
          AND NOT EXISTS (SELECT FROM deliveries WHERE webhook_id = ${webhook.id})`,
    );
    return { webhookId: webhook.id + 1n, status: '', id: 0n };
  }

  /** Skips deliveries that another process is removing. */
  async prune(before: number): Promise<boolean> {
    const [row] = await this.#statements.run<{ removed: bigint }[]>(
      (sql) => sql`
        WITH removed AS (
          DELETE FROM deliveries WHERE id = ANY (ARRAY(
            SELECT id FROM deliveries WHERE finished_at < ${before} ORDER BY finished_at, id
            LIMIT ${deliveryBatch} FOR UPDATE SKIP LOCKED
          )) RETURNING 1
        )
        SELECT count(*) AS removed FROM removed`,
    );
    return row?.removed === BigInt(deliveryBatch);
  }

  /**
   * Finds and locks webhooks that are ready, and the paces of their accounts. Skips webhooks of accounts that another
   * process has locked, because that process sends their deliveries.
   */
  #ready(request: TakeRequest): Promise<ReadyRow[]> {
    const { after, now, room, held, heldOfAccounts } = request;
    const rooms = JSON.stringify(held);
    const roomsOfAccounts = JSON.stringify(heldOfAccounts);
    return this.#statements.run(
      (sql) => sql`
        SELECT webhooks.id, webhooks.account_id AS "accountId", url, types, secret, former_secret AS "formerSecret",
          former_secret_until AS "formerSecretUntil", position, redelivering_to AS "redeliveringTo", last, oldest,
          position < last AND held IS NULL AS "isBehind", ${sql.unsafe(sending.sendable)} AS sendable,
          paced_until AS "pacedUntil"
        FROM webhooks
        JOIN webhook_paces ON webhook_paces.account_id = webhooks.account_id
        CROSS JOIN (SELECT ${now}::bigint AS now) AS clock
        CROSS JOIN LATERAL (
          SELECT last, coalesce((SELECT min(id) FROM events), last + 1) AS oldest FROM counters WHERE name = 'events'
        ) AS bounds
        LEFT JOIN LATERAL (
          SELECT 1 AS held FROM deliveries WHERE webhook_id = webhooks.id AND status = 'pending'
          OFFSET ${maxPending - 1} LIMIT 1
        ) AS pending ON position < last
        WHERE webhooks.id > ${after} AND enabled AND (
          (position < last AND held IS NULL AND ${sql.unsafe(sending.isAnyReadable)}) OR (
            (paced_until <= ${latestPaced(request)}::bigint OR paced_until > clock.now * 1000 + ${burstMicroseconds}::bigint)
            AND coalesce((${roomsOfAccounts}::text::json ->> webhooks.account_id::text)::bigint > 0, true)
            AND coalesce((${rooms}::text::json ->> webhooks.id::text)::bigint > 0, ${room}::bigint > 0 AND NOT EXISTS (
              SELECT FROM deliveries WHERE webhook_id = webhooks.id AND leased_until > clock.now))
            AND ${sql.unsafe(sending.isAnyDue)}))
        ORDER BY webhooks.id LIMIT ${atOnce.webhooks} FOR NO KEY UPDATE OF webhooks, webhook_paces SKIP LOCKED`,
    );
  }

  #standing({ waiting, now }: TakeRequest): Promise<StandingRow[]> {
    const ids = JSON.stringify(waiting.map(String));
    return this.#statements.run(
      (sql) => sql`
        SELECT id, url, secret, former_secret AS "formerSecret", ${sql.unsafe(sending.sendable)} AS sendable
        FROM webhooks CROSS JOIN (SELECT ${now}::bigint AS now) AS clock
        WHERE id IN (SELECT value::bigint FROM json_array_elements_text(${ids}::text::json) AS value) AND enabled`,
    );
  }

  /** Creates deliveries for some of the events. Returns the number of expired events. */
  async #queue(behind: readonly ReadyRow[], now: number): Promise<number> {
    if (behind.length === 0) return 0;
    const portions = behind.map((webhook) => ({ webhook, ...portionOf(webhook, webhook) }));
    const rows = JSON.stringify(
      portions.map(({ webhook: { id, accountId, last }, after, types, isAgain }) => {
        return { id: `${id}`, accountId: `${accountId}`, types, after: `${after}`, last: `${last}`, isAgain };
      }),
    );
    await this.#statements.run(
      (sql) => sql`
        WITH chosen AS (
          SELECT id, "accountId" AS account_id, types, after, coalesce((
            SELECT id FROM events WHERE id > after ORDER BY id OFFSET ${portionLength(behind.length) - 1} LIMIT 1
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
        UPDATE webhooks SET position = chosen.until FROM chosen WHERE webhooks.id = chosen.id`,
    );
    return portions.reduce(
      (sum, { webhook, after }) => sum + Number(expiredBetween(webhook.position, after)),
      0,
    );
  }

  /**
   * Leases due deliveries and advances the paces of their accounts. Runs as a separate statement after the lock, because
   * only later statements see the leases of the previous lock holder.
   */
  async #lease(
    found: readonly ReadyRow[],
    { now, leasedUntil, room, held }: TakeRequest,
    shares: ReturnType<typeof sharesOf>,
  ): Promise<LeasedRow[]> {
    const webhooks = JSON.stringify(
      found.map((webhook) => {
        const { id, accountId } = webhook;
        const { most = 0, pace } = shares.get(id) ?? {};
        const paced = { from: pace?.from, interval: pace?.interval };
        return {
          id: `${id}`,
          account: `${accountId}`,
          most,
          isHeld: `${id}` in held,
          scopes: scopesOf(webhook),
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
              WHERE webhook_id = webhook.id AND status = 'pending' AND ${sql.unsafe(deliveryScope)} = readable.scope
                AND next_attempt_at <= ${now}
              ORDER BY next_attempt_at, deliveries.id LIMIT webhook.most
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
        UPDATE deliveries SET leased_until = ${leasedUntil}, next_attempt_at = ${leasedUntil}
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
          WHERE coalesce(succeeded_at, 0) < at - ${successEveryMs} ORDER BY id
          FOR NO KEY UPDATE OF webhooks SKIP LOCKED
        )
        UPDATE webhooks SET succeeded_at = at FROM locked WHERE webhooks.id = locked.id`,
    );
  }
}
