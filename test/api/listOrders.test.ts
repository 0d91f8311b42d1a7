import { afterAll, describe, expect, test } from 'bun:test';
import { writeCursor } from '../../src/contract/cursor.ts';
import type { OrderStatus } from '../../src/contract/orders.ts';
import { orderStatuses } from '../../src/domain/order-status.ts';
import { startTestApp } from '../support/app.ts';
import { type Buyer, buyerOf, type ShownOrder, stepsTo } from '../support/orders.ts';
import { faulty, linksOf, relative } from '../support/pets.ts';

const app = await startTestApp();
const buyer = await buyerOf(app);
const orders: ShownOrder[] = [];
// More than the default page, and several for one animal.
for (let at = 0; at < 25; at++)
  orders.push(await buyer.order(...stepsTo[orderStatuses[at % 5] as OrderStatus]));
const [again] = orders.filter(({ status }) => status === 'cancelled');
for (let time = 0; time < 3; time++) {
  const { id } = (await buyer.place(again?.petId ?? 0n)).json as ShownOrder;
  orders.push((await buyer.step(id, 'cancel')).json as ShownOrder);
}
afterAll(() => app[Symbol.asyncDispose]());

const list = async (query = '') => (await buyer.call('GET', `/orders${query}`)).json;

/** Follows `rel="next"` to the last page; `between` runs after every page. */
async function walk(target: string, of: Buyer = buyer, between = async () => {}): Promise<ShownOrder[]> {
  const seen: ShownOrder[] = [];
  for (let next: string | undefined = target; next !== undefined; ) {
    const answer = await of.call('GET', next);
    seen.push(...(answer.json as ShownOrder[]));
    await between();
    const link: string | undefined = linksOf(answer).next;
    next = link && relative(link);
  }
  return seen;
}

describe('200', () => {
  test('is an empty array without rel="next" when there are none', async () => {
    await using empty = await startTestApp();
    const answer = await empty.call('GET', '/orders');
    expect([answer.text, linksOf(answer)]).toEqual(['[]', { first: '/v1/orders?limit=20' }]);
  });

  test('has 20 orders by ascending id when no limit is given, each as getOrder shows it', async () => {
    expect(await list()).toEqual(orders.slice(0, 20));
    for (const order of orders.slice(0, 3)) expect(await buyer.shown(order.id)).toEqual(order);
  });

  test('has only orders of the given status', async () => {
    // Other tests of this file place orders as well.
    const known = new Set(orders.map(({ id }) => id));
    for (const status of orderStatuses) {
      const listed = (await list(`?limit=100&status=${status}`)) as ShownOrder[];
      expect(listed.filter((order) => order.status !== status)).toEqual([]);
      expect(listed.filter(({ id }) => known.has(id))).toEqual(
        orders.filter((order) => order.status === status),
      );
    }
  });

  test('has only the orders of an animal, alone and with a status', async () => {
    const its = orders.filter(({ petId }) => petId === again?.petId);
    expect(its).toHaveLength(4);
    expect(await list(`?petId=${again?.petId}`)).toEqual(its);
    expect(await list(`?petId=${again?.petId}&status=cancelled`)).toEqual(its);
    expect(await list(`?status=placed&petId=${again?.petId}`)).toEqual([]);
    expect(await list('?petId=-9223372036854775808')).toEqual([]);
  });

  test('shows a change at once, also in a page that is held', async () => {
    const { id } = await buyer.order();
    for (const [step, status] of [
      ['approve', 'approved'],
      ['deliver', 'delivered'],
      ['return', 'returned'],
    ] as const) {
      const before = (await list(`?limit=100&status=${status}`)) as ShownOrder[];
      await buyer.step(id, step);
      const after = (await list(`?limit=100&status=${status}`)) as ShownOrder[];
      expect(after.map((order) => order.id)).toEqual([...before.map((order) => order.id), id]);
    }
  });
});

describe('pages', () => {
  test.each(['?limit=1', '?limit=7', '?limit=3&status=cancelled', `?limit=1&petId=${again?.petId}`])(
    'show every order once, by their links: %s',
    async (query) => {
      const whole = await list(query.replace(/limit=\d/, 'limit=100'));
      expect(await walk(`/orders${query}`)).toEqual(whole as ShownOrder[]);
    },
  );

  test('show every order once that was there throughout, while others are placed and steps taken', async () => {
    const before = (await list('?limit=100')) as ShownOrder[];
    const seen = await walk('/orders?limit=4', buyer, async () => {
      await buyer.order('approve');
    });
    const ids = seen.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { id } of before) expect(ids).toContain(id);
  });

  test('link the next page with its filters, absolutely when a public address is configured', async () => {
    await using known = await startTestApp({ PUBLIC_URL: 'https://animals.example.com' });
    const own = await buyerOf(known);
    const { petId } = await own.order('cancel');
    await own.place(petId);
    const links = linksOf(await own.call('GET', `/orders?limit=1&petId=${petId}`));
    expect(links.first).toBe(`https://animals.example.com/v1/orders?limit=1&petId=${petId}`);
    expect(links.next).toStartWith(`${links.first}&cursor=`);
  });
});

describe('400', () => {
  test.each([
    ...['limit=0', 'limit=1.0', 'status=', 'status=Placed', 'status=available', 'status=placed,approved'],
    ...['petId=', 'petId=1.0', 'petId=1,2', 'petId=9223372036854775808', 'id=1', 'categoryId=1', 'petid=1'],
    'status=placed&status=placed',
  ])('invalid_parameter, naming it: %s', async (query) => {
    const name = query.slice(0, query.indexOf('='));
    const answer = await buyer.call('GET', `/orders?${query}`);
    expect([answer.error.code, faulty(answer)]).toEqual(['invalid_parameter', [`query:${name}`]]);
  });

  test('lists all mistakes at once', async () => {
    const answer = await buyer.call('GET', '/orders?limit=0&status=x&petId=x&cursor=x&y=1');
    const named = ['query:cursor', 'query:limit', 'query:petId', 'query:status', 'query:y'];
    expect(faulty(answer).sort()).toEqual(named);
  });

  test('invalid_cursor for one that the service never made, or made for other filters', async () => {
    const next = linksOf(await buyer.call('GET', '/orders?limit=1&status=cancelled')).next ?? '';
    const cursor = new URLSearchParams(next.split('?')[1]).get('cursor') ?? '';
    expect((await buyer.call('GET', `/orders?status=cancelled&cursor=${cursor}`)).status).toBe(200);
    const wrong = [
      `cursor=${cursor}`,
      `cursor=${cursor}&status=placed`,
      `cursor=${cursor}&status=cancelled&petId=1`,
      'cursor=',
      'cursor=x',
      `cursor=${writeCursor({ filters: 'sold', after: 1n })}`,
      `cursor=${writeCursor({ filters: '', after: 2n ** 63n })}`,
    ];
    for (const query of wrong) {
      const answer = await buyer.call('GET', `/orders?${query}`);
      expect([answer.error.code, faulty(answer)]).toEqual(['invalid_cursor', ['query:cursor']]);
    }
  });
});
