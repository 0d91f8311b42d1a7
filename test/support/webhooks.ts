/** Adds webhooks and deliveries directly to a store, as if attempts had been made. */

import { openStorage } from '../../src/app/store.ts';
import { readConfig } from '../../src/config.ts';
import { systemClock } from '../../src/domain/clock.ts';
import { type LeaseRequest, maxInFlight } from '../../src/domain/delivery.ts';
import type { Transaction } from '../../src/storage/transaction.ts';
import type { NewRowOf } from '../../src/tables/table.ts';
import type { deliveries, webhooks } from '../../src/tables/webhooks.ts';

type NewWebhook = NewRowOf<typeof webhooks>;
type NewDelivery = NewRowOf<typeof deliveries>;

const writes = ['webhooks'] as const;

const units = {
  addWebhook: {
    writes,
    run: (transaction: Transaction, added: NewWebhook) => transaction.webhooks.add(added),
  },
  addDeliveries: {
    writes,
    run: async (transaction: Transaction, added: readonly NewDelivery[]) => {
      await Promise.all(added.map((delivery) => transaction.deliveries.add(delivery)));
    },
  },
} as const;

async function write(url: string, change: (store: Awaited<ReturnType<typeof open>>) => unknown) {
  await using store = await open(url);
  await change(store);
}

const open = (url: string) =>
  openStorage({ url, clock: systemClock(), rules: readConfig({}).limits, isServing: false, units });

/** A round of a process that has no requests in flight. It leases no deliveries, and only creates those of recent events. */
export function leaseRequest(now: number, more: Partial<LeaseRequest> = {}): LeaseRequest {
  const none = { lost: [], free: maxInFlight.perProcess, inFlight: [], stalled: [], suspended: [], full: [] };
  return { now, leasedUntil: now, room: 0, after: 0n, ...none, perSecond: 10_000, turn: 0, ...more };
}

/** Adds a webhook that receives no events. The store assigns the id. */
export async function addWebhook(
  databaseUrl: string,
  webhook: Pick<NewWebhook, 'accountId'> & Partial<NewWebhook>,
): Promise<void> {
  const made = { url: 'https://shop.example/webhooks', types: ['pet.*', 'order.*'], enabled: true } as const;
  const position = 2n ** 60n;
  const added: NewWebhook = { ...made, secret: 'sealed', position, createdAt: Date.now(), ...webhook };
  await write(databaseUrl, (store) => store.write('addWebhook', added));
}

export async function addDeliveries(databaseUrl: string, added: readonly NewDelivery[]): Promise<void> {
  await write(databaseUrl, (store) => store.write('addDeliveries', added));
}

/** A delivery that failed after two attempts. `at` is the time of the failure in Unix ms. */
export function failedDelivery(webhookId: bigint, eventId: bigint, at: number): NewDelivery {
  const attempts = [
    { at: new Date(at - 20_000).toISOString(), status: 503, milliseconds: 12 },
    { at: new Date(at - 15_000).toISOString(), milliseconds: 15_000, error: 'No response within 15 s.' },
  ];
  return {
    ...{ webhookId, eventId, type: 'order.placed', status: 'failed', createdAt: at - 20_000, finishedAt: at },
    attempts: JSON.stringify(attempts),
  };
}

export function succeededDelivery(webhookId: bigint, eventId: bigint, at: number): NewDelivery {
  const attempts = JSON.stringify([{ at: new Date(at).toISOString(), status: 204, milliseconds: 31 }]);
  const done = { type: 'pet.created', status: 'succeeded', attempts } as const;
  return { ...done, webhookId, eventId, createdAt: at, finishedAt: at };
}

/** A delivery whose first attempt is due an hour after `at`. */
export function pendingDelivery(webhookId: bigint, eventId: bigint, at: number): NewDelivery {
  const pending = { type: 'pet.created', status: 'pending', attempts: '[]', createdAt: at } as const;
  return { ...pending, webhookId, eventId, nextAttemptAt: at + 3_600_000 };
}
