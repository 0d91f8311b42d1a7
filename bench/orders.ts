/** Orders are placed again and again, though an animal can be ordered once. */
import { type AdminServices, openAdminServices } from '../src/app.ts';
import { readConfig } from '../src/config.ts';
import type { Ordering } from './contender.ts';
import type { StoreSettings } from './service.ts';

const pageLength = 5_000;

/** Where the holder of a key places orders, on the service's store. */
export function orderingOn(store: StoreSettings, key: string): Ordering {
  return {
    target: '/v1/orders',
    key,
    async orderable() {
      await using admin = await openAdminServices(readConfig(store));
      await cancelOrders(admin);
      return await availableIds(admin);
    },
  };
}

async function cancelOrders({ storage }: AdminServices): Promise<void> {
  for (;;) {
    const placed = await storage.orders.list(0n, pageLength, { status: 'placed' });
    if (placed.length === 0) return;
    const now = Date.now();
    const cancel = (orderId: bigint) =>
      storage.write('cancelOrder', { params: { orderId }, preconditions: {}, now });
    await Promise.all(placed.map(({ id }) => cancel(id)));
  }
}

async function availableIds({ storage }: AdminServices): Promise<bigint[]> {
  const ids: bigint[] = [];
  for (;;) {
    const page = await storage.pets.list(ids.at(-1) ?? 0n, pageLength, { status: 'available' });
    ids.push(...page.map(({ id }) => id));
    if (page.length < pageLength) return ids;
  }
}
