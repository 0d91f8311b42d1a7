import { type Awaitable, andThen } from '../../domain/awaitable.ts';
import { maxPending, type SendableEvents } from '../../domain/delivery.ts';
import { deletedWebhookOwner } from '../../tables/webhooks.ts';
import {
  deliveryBatch,
  dueAfterCrashSql,
  maxRedeliveredAtOnce,
  missingPacesSql,
  mistimedSql,
  nextToTrim,
  parseSendableScopes,
  sendingSql,
  successPrecisionMs,
  type TrimCandidate,
  trimBatch,
  trimCandidateColumnsSql,
  trimmedTo,
} from '../delivery-row.ts';
import type { EntityWrites } from '../entity.ts';
import type { DeliveryWrites, SweepPosition } from '../transaction.ts';
import { type Engine, perDialect } from './engine.ts';

/**
 * Statements lock webhooks before their deliveries, to avoid deadlocks. They skip deliveries that another transaction
 * has locked, so that these do not block all others. ORDER BY lists every column of an index, so that PostgreSQL uses
 * this index.
 */
export const deliveryStatements = perDialect((dialect) => {
  const { locking, isAmong, integersIn, greatest, least } = dialect;
  const now = '$2::bigint';
  const conditions = sendingSql(dialect, now);
  const skipLocked = locking('FOR UPDATE SKIP LOCKED');
  const ofIds = (from: string) => `WHERE ${isAmong('id', `FROM ${from}`)}`;
  const ofUnlocked = (condition: string) => ofIds(`deliveries WHERE ${condition} ${skipLocked}`);
  const makeDue = `UPDATE deliveries SET leased_until = NULL, next_attempt_at = ${now}`;
  const isWaiting = `status = 'pending' AND (leased_until IS NULL OR leased_until <= ${now})`;
  const examined = `FROM deliveries WHERE status = 'pending' AND id > $1::bigint ORDER BY id LIMIT ${deliveryBatch}`;
  const isMistimed = mistimedSql(dialect, {
    ...{ latestLease: '$3::bigint', latestRetry: '$4::bigint', latestAttempt: '$5::text' },
  });
  return {
    sendable: `SELECT account_id AS "accountId", ${conditions.sendable} AS sendable
      FROM (SELECT value AS account_id FROM (${integersIn('$1')}) AS listed) AS webhooks`,
    full: `SELECT id FROM deliveries WHERE webhook_id = $1 AND status = 'pending'
      ORDER BY webhook_id, status, id LIMIT 1 OFFSET ${maxPending - 1}`,
    addPaces: `INSERT INTO webhook_paces (account_id) ${missingPacesSql} ON CONFLICT DO NOTHING`,
    release: `UPDATE deliveries SET leased_until = NULL, next_attempt_at = ${dueAfterCrashSql(dialect, '$1::bigint')}
      ${ofIds(`deliveries WHERE leased_until IS NOT NULL LIMIT ${deliveryBatch}`)}`,
    releaseLost: `${makeDue} ${ofUnlocked(`leased_until IN (${integersIn('$1')}) LIMIT ${deliveryBatch}`)}`,
    clampSuccess: `UPDATE webhooks SET succeeded_at = $1 ${ofIds(
      `webhooks WHERE succeeded_at > $2 ORDER BY id LIMIT ${deliveryBatch} ${locking('FOR NO KEY UPDATE SKIP LOCKED')}`,
    )}`,
    lastExamined: `SELECT max(id) AS id FROM (SELECT id ${examined}) AS examined`,
    reschedule: `${makeDue} ${ofUnlocked(`${isAmong('id', examined)} AND ${isMistimed}`)}`,
    lockWebhook: `SELECT id FROM webhooks WHERE id = $1 ${locking('FOR NO KEY UPDATE')}`,
    rewind: `UPDATE webhooks SET position = ${least}(position, $3::bigint), redelivering_to = CASE
        WHEN position > $3::bigint THEN ${greatest}(position, coalesce(redelivering_to, 0)) ELSE redelivering_to END
      WHERE id = $1 AND (${conditions.isRedelivering}) IS NOT TRUE`,
    hastenAfter: `${makeDue} ${ofUnlocked(
      `webhook_id = $1 AND event_id > $3 AND ${isWaiting} AND next_attempt_at > ${now} LIMIT ${maxRedeliveredAtOnce}`,
    )}`,
    hasten: `${makeDue} ${ofUnlocked(`id = $1 AND ${isWaiting}`)}`,
    deletedWebhook: `SELECT id FROM webhooks WHERE account_id = ${deletedWebhookOwner} AND id >= $1
      ORDER BY account_id, id LIMIT 1 ${skipLocked}`,
    sweep: `DELETE FROM deliveries ${ofUnlocked(
      `webhook_id = $1 AND (status, id) > ($2::text, $3::bigint) ORDER BY webhook_id, status, id LIMIT ${deliveryBatch}`,
    )} RETURNING status, id`,
    removeWebhook: `DELETE FROM webhooks WHERE id = $1
      AND NOT EXISTS (SELECT 1 FROM deliveries WHERE webhook_id = $1)`,
    prune: `DELETE FROM deliveries ${ofUnlocked(
      `finished_at < $1 ORDER BY finished_at, id LIMIT ${deliveryBatch}`,
    )}`,
    crowded: `SELECT id, ${trimCandidateColumnsSql('$2::bigint')} FROM webhooks WHERE id >= $1 ORDER BY id LIMIT ${trimBatch}`,
    trim: `DELETE FROM deliveries ${ofUnlocked(
      `webhook_id = $1 AND status = $2::text AND id < $3::bigint
       ORDER BY webhook_id DESC, status DESC, id DESC LIMIT ${deliveryBatch}`,
    )} RETURNING id`,
  };
});

export function readSendable(
  engine: Engine,
  accountIds: readonly number[],
  now: number,
): Awaitable<SendableEvents[]> {
  const found = engine.all<{ accountId: bigint; sendable: string }>(
    deliveryStatements(engine).sendable,
    JSON.stringify(accountIds),
    now,
  );
  return andThen(found, (rows) =>
    rows.map((row) => ({ accountId: Number(row.accountId), scopes: parseSendableScopes(row) })),
  );
}

const sweepStart = (webhookId: bigint): SweepPosition => ({ webhookId, status: '', id: 0n });

/** Changes to deliveries whose statements are the same for both engines. */
export function createDeliveryWrites(
  engine: Engine,
): Omit<DeliveryWrites, 'lockCounter' | 'lease' | 'settle' | keyof EntityWrites<unknown>> {
  const texts = deliveryStatements(engine);
  return {
    async hasRoom(webhookId) {
      return (await engine.all(texts.full, webhookId)).length === 0;
    },

    async addPaces() {
      return (await engine.run(texts.addPaces)) === deliveryBatch;
    },

    async release(now) {
      return (await engine.run(texts.release, now)) === deliveryBatch;
    },

    async releaseLost(leasedUntil, now) {
      await engine.run(texts.releaseLost, JSON.stringify(leasedUntil.map(String)), now);
    },

    async reschedule({ after, now, latestLease, latestRetry }) {
      const clamped = after > 0n ? 0 : await engine.run(texts.clampSuccess, now, now + successPrecisionMs);
      if (clamped === deliveryBatch) return after;
      const [last] = await engine.all<{ id: bigint | null }>(texts.lastExamined, after);
      const latestAttempt = new Date(latestLease).toISOString();
      await engine.run(texts.reschedule, after, now, latestLease, latestRetry, latestAttempt);
      return last?.id ?? undefined;
    },

    async startRedelivery(webhookId, after, now) {
      // Waits for the process that is creating deliveries, which has locked the row.
      await engine.all(texts.lockWebhook, webhookId);
      if ((await engine.run(texts.rewind, webhookId, now, after)) === 0) return false;
      await engine.run(texts.hastenAfter, webhookId, now, after);
      return true;
    },

    async hasten(id, now) {
      await engine.run(texts.hasten, id, now);
    },

    sweep: (after) => sweep(engine, after),

    async prune(before) {
      return (await engine.run(texts.prune, before)) === deliveryBatch;
    },

    trim: (keep, after) => trim(engine, keep, after),
  };
}

/** A webhook with locked deliveries remains until the next sweep. */
async function sweep(engine: Engine, after: SweepPosition | null): Promise<SweepPosition | undefined> {
  const texts = deliveryStatements(engine);
  const [webhook] = await engine.all<{ id: bigint }>(texts.deletedWebhook, after?.webhookId ?? 0n);
  if (webhook === undefined) return undefined;
  const { status, id } = after?.webhookId === webhook.id ? after : sweepStart(webhook.id);
  const removed = await engine.all<Omit<SweepPosition, 'webhookId'>>(texts.sweep, webhook.id, status, id);
  if (removed.length > 0) return { webhookId: webhook.id, ...removed.reduce(laterPosition) };
  await engine.run(texts.removeWebhook, webhook.id);
  return sweepStart(webhook.id + 1n);
}

function laterPosition<One extends Omit<SweepPosition, 'webhookId'>>(one: One, other: One): One {
  if (one.status !== other.status) return one.status > other.status ? one : other;
  return one.id > other.id ? one : other;
}

async function trim(engine: Engine, keep: number, after: SweepPosition | null) {
  const texts = deliveryStatements(engine);
  const from = after ?? sweepStart(0n);
  const crowded = () => engine.all<TrimCandidate>(texts.crowded, from.webhookId, keep);
  const next = from.id > 0n ? from : nextToTrim(await crowded(), from);
  if (next === undefined || next.id === 0n) return next;
  const removed = await engine.all<{ id: bigint }>(texts.trim, next.webhookId, next.status, next.id);
  return trimmedTo(
    next,
    removed.map(({ id }) => id),
  );
}
