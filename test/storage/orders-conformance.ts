import { expect } from 'bun:test';
import type { Order } from '../../src/contract/representations.ts';
import { rejectionOf } from '../support/rejection.ts';
import type { StoreTest } from './place.ts';
import { shopUnits } from './shop-units.ts';

const placed: Omit<Order, 'id'> = {
  petId: 1n,
  status: 'placed',
  createdAt: 1_800_000_000_001,
  updatedAt: 1_800_000_000_001,
};

export function ordersConform(check: StoreTest): void {
  check('no unit of work can create a second open order for an animal', async (bench) => {
    const { store, besideWith } = bench;
    const { write } = await besideWith(shopUnits);
    // PostgreSQL repeats a conflicting unit until its timeout.
    const impatient = await besideWith(shopUnits, 1_000);
    const expectRejected = async (status: 'placed' | 'approved') =>
      expect(await rejectionOf(impatient.write('addOrder', { ...placed, status }))).toBeDefined();
    const first = await write('addOrder', placed);
    await Promise.all([expectRejected('placed'), expectRejected('approved')]);
    await write('addOrder', { ...placed, status: 'cancelled' });
    await write('replaceOrder', { ...first, status: 'approved' });
    await expectRejected('placed');
    expect((await store.orders.list(0n, 9)).map(({ status }) => status)).toEqual(['approved', 'cancelled']);
  });
}
