import { openStorage } from '../../src/storage/open.ts';
import type { Transaction } from '../../src/storage/transaction.ts';
import type { NewIn } from '../../src/tables/table.ts';
import type { deliveries } from '../../src/tables/webhooks.ts';
import type { TestApp } from './app.ts';

type NewDelivery = NewIn<typeof deliveries>;

const units = {
  addDeliveries: {
    writes: ['webhooks'],
    run: async (transaction: Transaction, added: readonly NewDelivery[]) => {
      for (const delivery of added) await transaction.deliveries.add(delivery);
    },
  },
} as const;

/** Stores deliveries as they are after attempts that were never made. */
export async function addDeliveries(
  { config, clock }: TestApp,
  added: readonly NewDelivery[],
): Promise<void> {
  const { databaseUrl: url, limits: rules } = config;
  await using store = await openStorage({ url, clock, rules, serving: false, units });
  await store.write('addDeliveries', added);
}

/** A delivery that failed, of an event with this id. */
export function failedDelivery(webhookId: bigint, eventId: bigint, at: number): NewDelivery {
  const attempts = [
    { at: new Date(at).toISOString(), status: 503, milliseconds: 12 },
    { at: new Date(at + 5_000).toISOString(), milliseconds: 15_000, error: 'No response within 15 s.' },
  ];
  return {
    ...{ webhookId, eventId, type: 'order.placed', status: 'failed', createdAt: at, finishedAt: at + 20_000 },
    attempts: JSON.stringify(attempts),
  };
}

export function deliveredAt(webhookId: bigint, eventId: bigint, at: number): NewDelivery {
  const attempts = JSON.stringify([{ at: new Date(at).toISOString(), status: 204, milliseconds: 31 }]);
  return {
    ...{ webhookId, eventId, type: 'pet.created', status: 'succeeded', attempts },
    ...{ createdAt: at, finishedAt: at },
  };
}

/** A delivery whose next attempt is a year away. */
export function pendingDelivery(webhookId: bigint, eventId: bigint, at: number): NewDelivery {
  const nextAttemptAt = at + 365 * 86_400_000;
  const pending = { type: 'pet.created', status: 'pending', attempts: '[]', createdAt: at } as const;
  return { ...pending, webhookId, eventId, nextAttemptAt };
}
