import { expect } from 'bun:test';
import type { StoredResponse } from '../../src/storage/transaction.ts';
import type { StoreTest } from './place.ts';
import { raisedBy, type Shop, shopUnits } from './shop-units.ts';

const at = 1_800_000_000_000;

const answer: StoredResponse = {
  accountId: 1,
  key: 'order-1042',
  request: 'a'.repeat(64),
  status: 201,
  body: '{"id":1,"name":"\u2028 \\"猫\\""}',
  location: '/v1/orders/1',
  keptAt: at,
};

const found = ({ write }: Shop, accountId: number, key: string, since = 0) =>
  write('findAnswer', { accountId, key, since });

export function answersConform(check: StoreTest): void {
  check(
    'a stored response is returned unchanged, and only for its account and key',
    async ({ besideWith }) => {
      const shop = await besideWith(shopUnits);
      expect(await found(shop, 1, 'order-1042')).toBeUndefined();
      await shop.write('keepResponse', { answer, since: 0 });
      const empty: StoredResponse = { ...answer, key: '~:!"\'%_', status: 200, body: null, location: null };
      await shop.write('keepResponse', { answer: empty, since: 0 });
      expect(await found(shop, 1, 'order-1042')).toEqual(answer);
      expect(await found(shop, 1, '~:!"\'%_')).toEqual(empty);
      for (const [accountId, key] of [
        [2, 'order-1042'],
        [1, 'order-104'],
        [1, 'ORDER-1042'],
        [11, ':order-1042'],
      ] as const) {
        expect(await found(shop, accountId, key)).toBeUndefined();
      }
    },
  );

  check('an expired response is not returned and can be replaced', async ({ besideWith }) => {
    const shop = await besideWith(shopUnits);
    await shop.write('keepResponse', { answer, since: 0 });
    expect(await found(shop, 1, answer.key, at)).toEqual(answer);
    expect(await found(shop, 1, answer.key, at + 1)).toBeUndefined();
    const later: StoredResponse = { ...answer, request: 'b'.repeat(64), body: '{}', keptAt: at + 1 };
    await shop.write('keepResponse', { answer: later, since: at + 1 });
    expect(await found(shop, 1, answer.key)).toEqual(later);
  });

  check('storing a response removes a few expired responses, oldest first', async ({ besideWith }) => {
    const shop = await besideWith(shopUnits);
    const old = Array.from({ length: 12 }, (_, index) => ({
      ...answer,
      key: `old ${index}`,
      keptAt: at + index,
    }));
    for (const each of old) await shop.write('keepResponse', { answer: each, since: 0 });
    const since = at + old.length;
    const left: number[] = [];
    for (let index = 0; index < 4; index++) {
      const kept = { ...answer, key: `new ${index}`, keptAt: since };
      await shop.write('keepResponse', { answer: kept, since });
      const still = await Promise.all(old.map(({ key }) => found(shop, 1, key)));
      left.push(still.filter((one) => one !== undefined).length);
      expect(still.slice(old.length - (left[index] ?? 0))).toEqual(
        old.slice(old.length - (left[index] ?? 0)),
      );
    }
    // Each write removes more responses than it stores, so the table shrinks.
    expect(left[0]).toBeLessThan(old.length - 1);
    expect(left[3]).toBe(0);
    for (let index = 0; index < 4; index++) expect(await found(shop, 1, `new ${index}`)).toBeDefined();
  });

  check(
    'expired responses can also be removed without storing another response',
    async ({ store, besideWith }) => {
      const shop = await besideWith(shopUnits);
      for (const age of [2, 1, 0]) {
        await shop.write('keepResponse', {
          answer: { ...answer, key: `age ${age}`, keptAt: at - age },
          since: 0,
        });
      }
      expect(await raisedBy(store, () => store.write('pruneResponses', at))).toEqual([]);
      const left = await Promise.all([2, 1, 0].map((age) => found(shop, 1, `age ${age}`)));
      expect(left.map((one) => one?.key)).toEqual([undefined, undefined, 'age 0']);
      expect(await store.write('pruneResponses', at)).toBe(false);
    },
  );
}
