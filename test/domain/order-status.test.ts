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

/** The published picture, once more in its own words. */
const picture: readonly (readonly [OrderStatus, OrderStep, OrderStatus])[] = [
  ['placed', 'approve', 'approved'],
  ['approved', 'deliver', 'delivered'],
  ['delivered', 'return', 'returned'],
  ['placed', 'cancel', 'cancelled'],
  ['approved', 'cancel', 'cancelled'],
];

const leadsTo = (status: OrderStatus, step: OrderStep) =>
  picture.find(([from, by]) => from === status && by === step)?.[2];

/** Every sequence of up to that many steps. */
function sequences(length: number): OrderStep[][] {
  if (length === 0) return [[]];
  const shorter = sequences(length - 1);
  const longest = shorter.filter((steps) => steps.length === length - 1);
  return [...shorter, ...longest.flatMap((steps) => orderSteps.map((step) => [...steps, step]))];
}

/** An animal and its order, as both go on. */
interface Sale {
  readonly order: OrderStatus;
  readonly pet: PetStatus;
}

/** What becomes of them by a step; undefined when it is refused. */
function after({ order, pet }: Sale, step: OrderStep): Sale | undefined {
  const status = next(order, step);
  return status && { order: status, pet: petStatusAfter(step, pet) ?? pet };
}

const placed: Sale = { order: 'placed', pet: 'pending' };

describe('the steps of an order', () => {
  test('are those of the picture and no others', () => {
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

describe('in every sequence of up to six steps', () => {
  const all = sequences(6);

  test('an order takes three steps at most, each status once', () => {
    for (const steps of all) {
      const taken: OrderStatus[] = ['placed'];
      for (const step of steps) {
        const status = next(taken.at(-1) ?? 'placed', step);
        if (status !== undefined) taken.push(status);
      }
      expect(taken.length).toBeLessThanOrEqual(4);
      expect(new Set(taken).size).toBe(taken.length);
    }
  });

  test('an open order has a pending animal, a delivered one a sold animal, an ended one an available one', () => {
    const petOf = {
      placed: 'pending',
      approved: 'pending',
      delivered: 'sold',
      returned: 'available',
      cancelled: 'available',
    };
    for (const steps of all) {
      let sale = placed;
      for (const step of steps) {
        sale = after(sale, step) ?? sale;
        expect(sale.pet).toBe(petOf[sale.order] as PetStatus);
        expect(sale.pet === 'pending').toBe(isOpen(sale.order));
      }
    }
  });

  test('the same step is never done twice', () => {
    for (const steps of all) {
      let { order } = placed;
      const done = steps.filter((step) => {
        const status = next(order, step);
        order = status ?? order;
        return status !== undefined;
      });
      expect(new Set(done).size).toBe(done.length);
    }
  });
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
