import { expect } from 'bun:test';
import { plans } from '../../src/domain/plan.ts';
import type { Store } from '../../src/operations/units.ts';
import type { SearchedTable } from '../../src/storage/admin.ts';
import { foldCase } from '../../src/tables/accounts.ts';
import type { StoreTest } from './place.ts';
import { many, newKey, newPet } from './samples.ts';

const createdAt = 1_700_000_000_000;
const everything = { after: 0n, until: 1_000n };

/** Names with pattern characters, non-ASCII letters, and both upper and lower case. */
const names = ['Seattle Shop', 'a%b_c', 'KÄTHE', 'käthe', 'back\\slash', "it's", '猫の店', 'shop'];

async function fill(store: Store): Promise<void> {
  const animals = names.map((name) => newPet(name));
  for (const name of names) {
    const { id } = await store.write('createAccount', { name, plan: 'free', quota: plans.free, createdAt });
    await store.write('createKey', { ...newKey(id, name), name, lastFour: id === 1 ? 'QwEr' : 'wxyz' });
  }
  for (const body of animals) await store.write('createPet', { params: {}, body, now: createdAt } as never);
}

export function searchConforms(check: StoreTest): void {
  check('names are found by any part of them, ignoring case', async ({ store }) => {
    await fill(store);
    const found = async (of: SearchedTable, text: string, span = everything) =>
      (await store.search.containing(of, text, span, many)).map(Number);
    for (const of of ['accounts', 'keys', 'pets'] as const) {
      expect([of, await found(of, 'shop')]).toEqual([of, [1, 8]]);
      expect([of, await found(of, '%')]).toEqual([of, [2]]);
      expect([of, await found(of, '_c')]).toEqual([of, [2]]);
      expect([of, await found(of, '\\')]).toEqual([of, [5]]);
      expect([of, await found(of, "'")]).toEqual([of, [6]]);
      expect([of, await found(of, 'の')]).toEqual([of, [7]]);
      expect([of, await found(of, 'zebra')]).toEqual([of, []]);
      expect([of, await found(of, 'shop', { after: 1n, until: 7n })]).toEqual([of, []]);
      expect([of, await found(of, 'shop', { after: 7n, until: 8n })]).toEqual([of, [8]]);
      expect(await store.search.containing(of, 'shop', everything, 1)).toEqual([1n]);
      expect([await store.search.nextId(of, 3n), await store.search.nextId(of, 8n)]).toEqual([4n, undefined]);
    }
    expect(await found('accounts', foldCase('Käthe'))).toEqual([3, 4]);
    // Non-ASCII letters are case-sensitive.
    expect(await found('keys', 'käthe')).toEqual([4]);
    expect(await found('keys', 'qwer')).toEqual([1]);
    expect(await found('keys', 'qwe')).toEqual([]);
  });

  check('orders are found by a prefix of their reference', async ({ store }) => {
    const references = ['cart-2', undefined, 'cart-10', 'Cart-1', 'cart-1', 'a%'];
    for (const [index, reference] of references.entries()) {
      await store.write('createPet', { params: {}, body: newPet(`${index}`), now: createdAt } as never);
      const body = { petId: BigInt(index + 1), reference };
      await store.write('placeOrder', { params: {}, body, preconditions: {}, now: createdAt } as never);
    }
    const found = async (prefix: string, limit = many) =>
      (await store.search.ordersReferring(prefix, limit)).map(Number);
    expect(await found('cart-')).toEqual([5, 3, 1]);
    expect(await found('cart-1')).toEqual([5, 3]);
    expect(await found('cart-', 1)).toEqual([5]);
    expect(await found('Cart')).toEqual([4]);
    expect(await found('a%')).toEqual([6]);
    expect(await found('art')).toEqual([]);
  });
}
