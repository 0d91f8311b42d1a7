import type { OrderStatus } from '../../src/contract/orders.ts';
import type { PetStatus } from '../../src/contract/pets.ts';
import type { Pet } from '../../src/contract/representations.ts';
import type { OrderTransition } from '../../src/domain/order-status.ts';
import type { Quota } from '../../src/domain/plan.ts';
import { scopes as allScopes, type Scope } from '../../src/domain/scope.ts';
import type { Tenant, TestApp } from './app.ts';
import type { Answer, CallOptions } from './call.ts';
import { newPet } from './pets.ts';

/** An order in a response. */
export interface ShownOrder {
  readonly id: bigint;
  readonly petId: bigint;
  readonly status: OrderStatus;
  readonly reference?: string;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** A client that orders animals. */
export interface Buyer extends Tenant {
  call(method: string, target: string, options?: CallOptions): Promise<Answer>;
  /** Adds an animal and returns its id. */
  addPet(status?: PetStatus): Promise<bigint>;
  /** Current status of an animal. Undefined if it was deleted. */
  petStatus(petId: bigint): Promise<PetStatus | undefined>;
  place(petId: bigint, options?: CallOptions): Promise<Answer>;
  step(orderId: bigint, step: OrderTransition, options?: CallOptions): Promise<Answer>;
  /** Adds an animal, orders it, applies these transitions to the order, and returns the order. */
  order(...steps: OrderTransition[]): Promise<ShownOrder>;
  /** Reads an order. */
  shown(orderId: bigint): Promise<ShownOrder>;
}

/** The transitions that bring a new order to each status. */
export const stepsTo: Readonly<Record<OrderStatus, readonly OrderTransition[]>> = {
  placed: [],
  approved: ['approve'],
  delivered: ['approve', 'deliver'],
  returned: ['approve', 'deliver', 'return'],
  cancelled: ['cancel'],
};

const ample: Quota = { perMinute: 1_000_000, perDay: 1_000_000 };

/** Creates an account with a key that has these scopes. Defaults to all scopes. */
export async function buyerOf(
  app: TestApp,
  scopes: readonly Scope[] = allScopes,
  quota: Quota = ample,
): Promise<Buyer> {
  const { accounts, keys } = app.operator;
  const account = await accounts.create('buyer', 'enterprise', quota);
  const { key, id: keyId } = await keys.create(account.id, 'buyer', undefined, scopes);
  return { account, keyId, ...clientOf(app, key) };
}

/** Helpers that send a client's requests with this key. */
export function clientOf(app: TestApp, key: string): Omit<Buyer, 'account' | 'keyId'> {
  const call: Buyer['call'] = (method, target, options = {}) => app.call(method, target, { key, ...options });
  const place: Buyer['place'] = (petId, options = {}) =>
    call('POST', '/orders', { body: `{"petId":${petId}}`, ...options });
  const step: Buyer['step'] = (orderId, name, options) => call('POST', `/orders/${orderId}/${name}`, options);
  const addPet: Buyer['addPet'] = async (status = 'available') =>
    ((await call('POST', '/pets', { body: newPet('Ozzy', '1', status) })).json as Pet).id;
  return {
    key,
    call,
    place,
    step,
    addPet,
    petStatus: async (petId) => {
      const [pet] = (await call('GET', `/pets?id=${petId}`)).json as Pet[];
      return pet?.status;
    },
    order: async (...steps) => {
      let order = (await place(await addPet())).json as ShownOrder;
      for (const name of steps) order = (await step(order.id, name)).json as ShownOrder;
      return order;
    },
    shown: async (orderId) => (await call('GET', `/orders/${orderId}`)).json as ShownOrder,
  };
}
