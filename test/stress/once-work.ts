/**
 * Adds and orders animals, with a new Idempotency-Key for each write, and computes the expected contents of the store.
 */
import { createHash } from 'node:crypto';
import type { OrderStatus } from '../../src/contract/orders.ts';
import type { Chance } from './generate/chance.ts';

/** Order lifecycles: transitions and the resulting statuses. */
const lives: readonly (readonly [step: string, status: OrderStatus][])[] = [
  [],
  [['cancel', 'cancelled']],
  [['approve', 'approved']],
  [
    ['approve', 'approved'],
    ['cancel', 'cancelled'],
  ],
  [
    ['approve', 'approved'],
    ['deliver', 'delivered'],
  ],
  [
    ['approve', 'approved'],
    ['deliver', 'delivered'],
    ['return', 'returned'],
  ],
];

/** Number of concurrent orders for the same animal. Only one of them succeeds. */
const buyers = 3;

/** A write that is retried until it gets a response. */
export interface Write {
  readonly target: string;
  readonly body: string | undefined;
  readonly idempotencyKey: string;
}

/** A resource as the service returned it. */
export interface Stored {
  readonly id: number;
  readonly status: string;
}

interface StoredOrder extends Stored {
  readonly petId: number;
}

/** Expected contents of the store at the end, keyed by animal name and order reference, which are unique. */
export class Expected {
  readonly pets = new Map<string, Stored>();
  readonly orders = new Map<string, StoredOrder>();
}

/** Sends a write, with retries, and returns the body of the response. */
type Perform = (write: Write) => Promise<unknown>;

/**
 * Adds an animal and runs orders for it through their lifecycles. Writes run one after the other, because each needs
 * the previous result.
 */
export async function liveOnce(
  name: string,
  chance: Chance,
  expected: Expected,
  perform: Perform,
): Promise<void> {
  let number = 0;
  const write = (target: string, body?: string) => {
    const idempotencyKey = createHash('sha256').update(`${name} ${number++}`).digest('base64url');
    return perform({ target, body, idempotencyKey });
  };
  const pet = (await write('/pets', JSON.stringify({ name, categoryId: 7 }))) as Stored;
  let petStatus = 'available';
  while (petStatus === 'available') {
    const life = chance.pick(lives);
    const last = life.at(-1)?.[1] ?? 'placed';
    const place = async (reference: string) => {
      const order = await write('/orders', JSON.stringify({ petId: pet.id, reference }));
      return { reference, ...(order as StoredOrder) };
    };
    // A rejected order may be retried later. If the animal were available by then, a second order would succeed.
    const rivals = petStatusBeside(last) === 'available' ? 1 : buyers;
    const bids = Array.from({ length: rivals }, (_, bid) => place(`${name}, order ${number}.${bid}`));
    const { reference, ...placed } = onlyOne(await Promise.allSettled(bids));
    let status: OrderStatus = 'placed';
    for (const [step, after] of life) {
      const taken = (await write(`/orders/${placed.id}/${step}`)) as StoredOrder;
      if (taken.status !== after) throw new Error(`${reference} is ${taken.status}, not ${after}.`);
      status = after;
    }
    expected.orders.set(reference, { id: placed.id, petId: pet.id, status });
    petStatus = petStatusBeside(status);
  }
  expected.pets.set(name, { id: pet.id, status: petStatus });
}

/**
 * The only order that succeeded. Throws unless exactly one order succeeded and all others failed because the animal was
 * not available.
 */
function onlyOne<Order>(bids: readonly PromiseSettledResult<Order>[]): Order {
  const [placed, ...more] = bids.filter((bid) => bid.status === 'fulfilled');
  if (placed === undefined || more.length > 0)
    throw new Error(`Exactly one of these orders must succeed: ${Bun.inspect(bids)}`);
  for (const bid of bids) {
    if (bid.status === 'rejected' && bid.reason?.code !== 'pet_not_available') throw bid.reason;
  }
  return placed.value;
}

function petStatusBeside(order: OrderStatus): string {
  if (order === 'delivered') return 'sold';
  return order === 'placed' || order === 'approved' ? 'pending' : 'available';
}
