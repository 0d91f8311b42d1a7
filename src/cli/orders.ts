import { openAdminServices } from '../app.ts';
import type { Config } from '../config.ts';
import { type Order, type OrderStatus, orderJson } from '../contract/orders.ts';
import type { OrderStep } from '../domain/order-status.ts';
import { printable } from '../domain/printable.ts';
import { writeAs } from '../operations/by-operator.ts';
import { orderReaders } from '../operations/orders.ts';
import { type Listing, type ListOptions, printList } from './pages.ts';
import { instant, say, sayJsonText } from './terminal.ts';
import { unconditional } from './unit.ts';

export interface ListOrdersOptions extends ListOptions {
  readonly status?: OrderStatus;
  readonly pet?: bigint;
}

const listing: Listing<Order> = {
  path: '/orders',
  none: 'No orders.',
  header: ['ID', 'ANIMAL', 'STATUS', 'PLACED', 'CHANGED', 'REFERENCE'],
  row: ({ id, petId, status, createdAt, updatedAt, reference }) => [
    String(id),
    String(petId),
    status,
    instant(createdAt),
    instant(updatedAt),
    reference ?? '',
  ],
  json: orderJson,
};

export async function listOrders(
  config: Config,
  { status, pet: petId, ...options }: ListOrdersOptions,
): Promise<void> {
  await using admin = await openAdminServices(config);
  await printList({ status, petId }, options, listing, (query) =>
    orderReaders.listOrders(admin.storage, { params: {}, query, body: undefined }),
  );
}

export async function showOrder(config: Config, orderId: bigint, { json }: { json?: true }): Promise<void> {
  await using admin = await openAdminServices(config);
  const input = { params: { orderId }, query: undefined, body: undefined };
  report(await orderReaders.getOrder(admin.storage, input), json);
}

export interface PlaceOrderOptions {
  readonly reference?: string;
  readonly json?: true;
}

export async function placeOrder(
  config: Config,
  petId: bigint,
  { reference, json }: PlaceOrderOptions,
): Promise<void> {
  await using admin = await openAdminServices(config);
  const unit = { body: { petId, reference }, ...unconditional() };
  report(await writeAs(admin, 'placeOrder', unit), json);
}

/** Takes an order one step on. */
export async function takeStep(
  config: Config,
  step: OrderStep,
  orderId: bigint,
  { json }: { json?: true },
): Promise<void> {
  await using admin = await openAdminServices(config);
  const unit = { params: { orderId }, ...unconditional() };
  report(await writeAs(admin, `${step}Order`, unit), json);
}

function report(order: Order, json: true | undefined): void {
  const { id, petId, status, reference, createdAt, updatedAt } = order;
  if (json) {
    sayJsonText(orderJson(order));
    return;
  }
  const named = reference === undefined ? '' : ` (${printable(reference)})`;
  const changed = updatedAt === createdAt ? '' : `, changed ${instant(updatedAt)}`;
  say(`Order ${id}${named} for animal ${petId}: ${status}. Placed ${instant(createdAt)}${changed}.`);
}
