import type { Awaitable } from '../../../domain/awaitable.ts';
import {
  type DeliveryBacklog,
  maxCountedPending,
  maxWebhooksRead,
  type SendableEvents,
} from '../../../domain/delivery.ts';
import { deletedWebhookOwner, deliveries } from '../../../tables/webhooks.ts';
import { readSendable } from '../../queries/deliveries.ts';
import type { DeliveryStore } from '../../storage.ts';
import { PostgresEngine } from '../engine.ts';
import type { Runner } from '../statements.ts';
import { PostgresEntity } from './entity.ts';

export class PostgresDeliveries extends PostgresEntity<typeof deliveries> implements DeliveryStore {
  constructor(runner: Runner) {
    super(deliveries, runner);
  }

  async backlog(): Promise<DeliveryBacklog> {
    const [row] = await this.runner.run<{ pending: bigint; deleted: bigint; oldestAt: bigint | null }[]>(
      (sql) => sql`
        SELECT (SELECT count(*) FROM (
                  SELECT FROM deliveries WHERE (status, id) >= ('pending', 0) AND status = 'pending'
                  ORDER BY status, id LIMIT ${maxCountedPending}
                ) AS counted) AS pending,
               (SELECT count(*) FROM (
                  SELECT FROM webhooks JOIN deliveries ON webhook_id = webhooks.id AND status = 'pending'
                  WHERE account_id = ${deletedWebhookOwner} LIMIT ${maxCountedPending}
                ) AS counted) AS deleted,
               (SELECT min(oldest.created_at) FROM (
                  SELECT id FROM webhooks WHERE (enabled, id) >= (true, 0) AND enabled
                  ORDER BY enabled, id LIMIT ${maxWebhooksRead}
                ) AS webhook CROSS JOIN LATERAL (
                  SELECT created_at FROM deliveries WHERE webhook_id = webhook.id AND status = 'pending'
                  ORDER BY webhook_id, status, id LIMIT 1
                ) AS oldest) AS "oldestAt"`,
    );
    return {
      pending: Math.max(Number(row?.pending ?? 0) - Number(row?.deleted ?? 0), 0),
      oldestAt: row?.oldestAt == null ? undefined : Number(row.oldestAt),
    };
  }

  sendable(accountIds: readonly number[], now: number): Awaitable<SendableEvents[]> {
    return readSendable(new PostgresEngine(this.runner), accountIds, now);
  }
}
