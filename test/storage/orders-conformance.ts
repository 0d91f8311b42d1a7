import { expect } from 'bun:test';
import { int64Max } from '../../src/contract/json.ts';
import type { Order } from '../../src/contract/orders.ts';
import { orderStatuses } from '../../src/domain/order-status.ts';
import { rejectionOf } from '../support/rejection.ts';
import type { StoreTest } from './place.ts';
import { shopUnits, walk } from './shop-units.ts';

const placed: Omit<Order, 'id'> = {
  petId: 1n,
  status: 'placed',
  createdAt: 1_800_000_000_001,
  updatedAt: 1_800_000_000_001,
};

export function ordersConform(check: StoreTest): void {
  orderRowsConform(check);
  orderListsConform(check);
}

function orderRowsConform(check: StoreTest): void {
  check('an order comes back as it was placed, with an id that ascends from 1', async (bench) => {
    const { store, besideWith } = bench;
    const { write } = await besideWith(shopUnits);
    const references = [undefined, 'cart-1042', ' "quoted" \u2028 猫 '];
    for (const [index, reference] of references.entries()) {
      const petId = int64Max - BigInt(index);
      const order = { ...placed, petId, ...(reference !== undefined && { reference }) };
      const id = BigInt(index + 1);
      expect(await write('addOrder', order)).toEqual({ id, ...order });
      expect(await store.orders.find(id)).toEqual({ id, ...order });
      expect(await write('findOrder', id)).toEqual({ id, ...order });
    }
    expect(await store.orders.find(4n)).toBeUndefined();
    expect(await write('findOrder', 4n)).toBeUndefined();
  });

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

function orderListsConform(check: StoreTest): void {
  check('the list goes by ascending id, within a status and an animal, from any order on', async (bench) => {
    const { store, besideWith } = bench;
    const { write } = await besideWith(shopUnits);
    const all: Order[] = [];
    for (let index = 0; index < 30; index++) {
      // An animal is held once at most, so open ones come last of each.
      const status = index < 20 ? orderStatuses[2 + (index % 3)] : index % 2 === 0 ? 'placed' : 'approved';
      const petId = index < 20 ? BigInt(index % 4) : BigInt(index % 10);
      all.push(await write('addOrder', { ...placed, status: status ?? 'placed', petId }));
    }
    const statuses = [undefined, ...orderStatuses];
    const animals = [undefined, 0n, 1n, 3n, 9n, 77n];
    for (const status of statuses) {
      for (const petId of animals) {
        const fits = (order: Order) =>
          (status ?? order.status) === order.status && (petId ?? order.petId) === order.petId;
        const expected = all.filter(fits);
        const { orders } = store;
        const list = (after: bigint, limit: number) => orders.list(after, limit, { status, petId });
        expect(await walk(0n, 7, list)).toEqual(expected);
        for (const after of [1n, 15n, 29n, 30n, int64Max]) {
          expect(await list(after, 3)).toEqual(expected.filter(({ id }) => id > after).slice(0, 3));
        }
      }
    }
  });
}
