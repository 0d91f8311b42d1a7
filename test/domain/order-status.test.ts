import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { OrderStatus } from '../../src/contract/orders.ts';
import type { PetStatus } from '../../src/contract/pets.ts';
import {
  isOpen,
  next,
  type OrderStep,
  orderStatuses,
  petStatusAfter,
  stepsOf,
} from '../../src/domain/order-status.ts';
import { orderSteps } from '../support/orders.ts';
import { always } from '../support/property.ts';

/** The transitions as published. */
const picture: readonly (readonly [OrderStatus, OrderStep, OrderStatus])[] = [
  ['placed', 'approve', 'approved'],
  ['approved', 'deliver', 'delivered'],
  ['delivered', 'return', 'returned'],
  ['placed', 'cancel', 'cancelled'],
  ['approved', 'cancel', 'cancelled'],
];

const leadsTo = (status: OrderStatus, step: OrderStep) =>
  picture.find(([from, by]) => from === status && by === step)?.[2];

/** An animal and its order, as both go on. */
interface Sale {
  readonly order: OrderStatus;
  readonly pet: PetStatus;
}

/** The result of a step; undefined when it is refused. */
function after({ order, pet }: Sale, step: OrderStep): Sale | undefined {
  const status = next(order, step);
  return status && { order: status, pet: petStatusAfter(step, pet) ?? pet };
}

const placed: Sale = { order: 'placed', pet: 'pending' };

describe('the steps of an order', () => {
  test('are the published ones and no others', () => {
    for (const status of orderStatuses) {
      for (const step of orderSteps) expect(next(status, step)).toBe(leadsTo(status, step));
      expect([...stepsOf(status)].sort()).toEqual(orderSteps.filter((step) => leadsTo(status, step)).sort());
    }
  });

  test('name nothing that every object has', () => {
    for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
      for (const status of orderStatuses) expect(stepsOf(status)).not.toContain(name as OrderStep);
    }
  });

  test('leave an order open exactly as long as it is placed or approved', () => {
    expect(orderStatuses.filter(isOpen)).toEqual(['placed', 'approved']);
  });
});

test('every reachable order has the animal of its status, and only open orders have a pending one', () => {
  const petOf = {
    ...{ placed: 'pending', approved: 'pending' },
    ...{ delivered: 'sold', returned: 'available', cancelled: 'available' },
  } as const satisfies Record<OrderStatus, PetStatus>;
  const reached: Sale[] = [placed];
  // The list grows while it is walked. The statuses form no circle, so it ends.
  for (const sale of reached) {
    expect(sale.pet).toBe(petOf[sale.order]);
    expect(sale.pet === 'pending').toBe(isOpen(sale.order));
    reached.push(...orderSteps.flatMap((step) => after(sale, step) ?? []));
  }
  expect(new Set(reached.map(({ order }) => order))).toEqual(new Set(orderStatuses));
});

describe('a return', () => {
  test('makes only an animal available that is sold still', () => {
    expect(petStatusAfter('return', 'sold')).toBe('available');
    expect(petStatusAfter('return', 'available')).toBeUndefined();
    expect(petStatusAfter('return', 'pending')).toBeUndefined();
  });

  test('never takes the animal from an order that holds it, whatever several buyers and the counter do', () => {
    const acts = fc.array(
      fc.record({ order: fc.nat(3), act: fc.constantFrom(...orderSteps, 'place', 'sell', 'bring back') }),
      { maxLength: 40 },
    );
    always(acts, (sequence) => {
      let pet: PetStatus = 'available';
      const orders: OrderStatus[] = [];
      for (const { order: at, act } of sequence) {
        const order = orders[at];
        const isHeld = orders.some(isOpen);
        if (act === 'place') {
          if (pet !== 'available') continue;
          orders.push('placed');
          pet = 'pending';
        } else if (act === 'sell' || act === 'bring back') {
          if (!isHeld) pet = act === 'sell' ? 'sold' : 'available';
        } else if (order !== undefined) {
          const sale = after({ order, pet }, act);
          orders[at] = sale?.order ?? order;
          pet = sale?.pet ?? pet;
        }
        expect(orders.filter(isOpen).length).toBeLessThanOrEqual(1);
        expect(pet === 'pending').toBe(orders.some(isOpen));
      }
    });
  });
});
