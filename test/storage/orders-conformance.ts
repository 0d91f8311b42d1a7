import { expect } from 'bun:test';
import type { Order } from '../../src/contract/orders.ts';
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
  check('a step stores the status and its instant, and nothing else', async ({ store, besideWith }) => {
    const { write } = await besideWith(shopUnits);
    const order = await write('addOrder', { ...placed, reference: 'cart-1042' });
    const approved: Order = { ...order, status: 'approved', updatedAt: 1_800_000_000_002 };
    await write('replaceOrder', approved);
    expect(await store.orders.find(order.id)).toEqual(approved);
    const [before, after] = await Promise.all([
      store.orders.list(0n, 9, { status: 'placed' }),
      store.orders.list(0n, 9, { status: 'approved' }),
    ]);
    expect([before, after]).toEqual([[], [approved]]);
  });

  check('the order that holds an animal is found until it is closed', async ({ besideWith }) => {
    const { write } = await besideWith(shopUnits);
    const first = await write('addOrder', placed);
    const other = await write('addOrder', { ...placed, petId: 2n });
    expect(await write('findOpenOrder', 1n)).toEqual(first);
    const approved: Order = { ...first, status: 'approved' };
    await write('replaceOrder', approved);
    expect(await write('findOpenOrder', 1n)).toEqual(approved);
    for (const status of ['cancelled', 'delivered', 'returned'] as const) {
      await write('replaceOrder', { ...first, status });
      expect(await write('findOpenOrder', 1n)).toBeUndefined();
    }
    const second = await write('addOrder', placed);
    expect(await write('findOpenOrder', 1n)).toEqual(second);
    expect(await write('findOpenOrder', 2n)).toEqual(other);
    expect(await write('findOpenOrder', 3n)).toBeUndefined();
  });

  check('no animal is ever held by two orders, whatever a unit of work does', async (bench) => {
    const { store, besideWith } = bench;
    const { write } = await besideWith(shopUnits);
    const first = await write('addOrder', placed);
    for (const status of ['placed', 'approved'] as const) {
      expect(await rejectionOf(write('addOrder', { ...placed, status }))).toBeDefined();
    }
    await write('addOrder', { ...placed, status: 'cancelled' });
    await write('replaceOrder', { ...first, status: 'approved' });
    expect(await rejectionOf(write('addOrder', placed))).toBeDefined();
    expect((await store.orders.list(0n, 9)).map(({ status }) => status)).toEqual(['approved', 'cancelled']);
  });
}
