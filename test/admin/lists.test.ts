/** Lists for operators: both sort orders, filters by time, sorting by usage, and totals. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type * as z from 'zod';
import { allAdminOperations } from '../../src/contract/admin/operations.ts';
import { wordsOf } from '../stress/walk/schemas.ts';
import { callAdmin } from '../support/admin.ts';
import { nextOf, openDesk } from '../support/admin-answers.ts';
import { newReport } from '../support/usage.ts';
import { addDeliveries, addWebhook, failedDelivery } from '../support/webhooks.ts';

interface Named {
  readonly id: number;
  readonly name: string;
}

const desk = await openDesk();
const { app, ask, done, list } = desk;
afterAll(() => desk[Symbol.asyncDispose]());

const idsOf = async (target: string) => (await list<Named>(target)).items.map(({ id }) => id);
const namesOf = async (target: string) => (await list<Named>(target)).items.map(({ name }) => name);
const instantOf = (ms: number) => encodeURIComponent(new Date(ms).toISOString());

const hour = 3_600_000;
let firstAt = 0;

beforeAll(async () => {
  for (let index = 1; index <= 7; index++) {
    await done('POST', '/pets', { name: `pet ${index}`, categoryId: index % 2 });
  }
  firstAt = app.clock.now();
  for (let petId = 1; petId <= 6; petId++) {
    await done('POST', '/orders', { petId });
    app.clock.advance(hour / 1_000);
  }
  await done('POST', '/orders/2/cancel');
});

test('animals are paginated, newest first, and every filter works', async () => {
  expect((await list('/pets?order=desc&limit=3')).pages).toEqual([3, 3, 1]);
  expect(await idsOf('/pets?order=desc&limit=3')).toEqual([7, 6, 5, 4, 3, 2, 1]);
  expect(await idsOf('/pets?order=asc&limit=3')).toEqual([1, 2, 3, 4, 5, 6, 7]);
  expect(await idsOf('/pets?order=desc&categoryId=1&limit=2')).toEqual([7, 5, 3, 1]);
  expect(await idsOf('/pets?order=desc&categoryId=0&status=pending&limit=1')).toEqual([6, 4]);
  expect(await idsOf('/pets?order=desc&minId=3&maxId=5&limit=1')).toEqual([5, 4, 3]);
  expect(await idsOf('/pets?order=desc&id=1,7,4,99&limit=2')).toEqual([7, 4, 1]);
});

test('orders are listed newest first, and can be filtered by the time they were placed', async () => {
  const range = (from: number, to: number) =>
    `since=${instantOf(firstAt + from * hour)}&until=${instantOf(firstAt + to * hour)}`;
  expect(await idsOf('/orders?order=desc&limit=4')).toEqual([6, 5, 4, 3, 2, 1]);
  expect(await idsOf(`/orders?${range(1, 3)}&limit=1`)).toEqual([2, 3]);
  expect(await idsOf(`/orders?${range(1, 3)}&order=desc&limit=1`)).toEqual([3, 2]);
  expect(await idsOf(`/orders?${range(1, 4)}&status=placed`)).toEqual([3, 4]);
  expect(await idsOf(`/orders?${range(-9, 0)}`)).toEqual([]);
  expect(await idsOf(`/orders?${range(5, 99)}&order=desc`)).toEqual([6]);
  expect(await idsOf(`/orders?${range(6, 99)}`)).toEqual([]);
  expect(await idsOf(`/orders?since=${instantOf(firstAt + 4.5 * hour)}`)).toEqual([6]);
});

test("accounts are listed with their usage, and can be sorted by name, today's requests or last use", async () => {
  const made: { accountId: number; keyId: number }[] = [];
  for (const name of ['zebra', 'Ant', 'mole']) {
    const { id: accountId } = await done<Named>('POST', '/accounts', { name, plan: 'pro' });
    const { id: keyId } = await done<Named>('POST', `/accounts/${accountId}/keys`, { name });
    made.push({ accountId, keyId });
  }
  const now = app.clock.now();
  const [hourStart, dayStart] = [now - (now % hour), now - (now % (24 * hour))];
  const used = [
    { requests: 5, lastUsedAt: hourStart - 48 * hour, hour: hourStart - 48 * hour },
    { requests: 2, lastUsedAt: hourStart, hour: hourStart },
    { requests: 9, lastUsedAt: dayStart, hour: dayStart },
  ];
  const usageOf = ({ requests, lastUsedAt, hour: at }: (typeof used)[number], index: number) => {
    const { accountId = 0, keyId = 0 } = made[index] ?? {};
    const counts = { ok: requests, refused: 0, limited: 0, failed: 0, deprecated: 0 };
    return { accountId, keyId, ...counts, hour: at, lastUsedAt, operations: [] };
  };
  const instance = { name: 'one', version: '1', startedAt: now, seenAt: now };
  const record = (keys: readonly ReturnType<typeof usageOf>[]) => {
    const report = { minutes: [], latencies: [], keys, number: newReport(now), instance };
    return app.app.admin.storage.write('recordUsage', report);
  };
  await record(used.map(usageOf));

  const ours = (names: readonly string[]) => names.filter((name) => ['zebra', 'Ant', 'mole'].includes(name));
  expect(ours(await namesOf('/accounts?sort=name&limit=2'))).toEqual(['Ant', 'mole', 'zebra']);
  expect(ours(await namesOf('/accounts?sort=requestsToday&limit=2'))).toEqual(['mole', 'Ant', 'zebra']);
  expect(ours(await namesOf('/accounts?sort=lastUsedAt&limit=1'))).toEqual(['Ant', 'mole', 'zebra']);
  expect(ours(await namesOf('/accounts?sort=lastUsedAt&name=z'))).toEqual(['zebra']);
  expect(ours(await namesOf('/accounts?sort=requestsToday&state=closed'))).toEqual([]);
  const [first] = (await list('/accounts?sort=requestsToday&limit=1')).items;
  expect(first).toMatchObject({
    name: 'mole',
    requestsToday: 9,
    lastUsedAt: new Date(dayStart).toISOString(),
  });
  const all = new Set((await list<Named>('/accounts?sort=requestsToday&limit=1')).items.map(({ id }) => id));
  expect([...all].sort()).toEqual((await idsOf('/accounts?sort=id')).sort());

  // A page begins after the last account of the previous page, even if that account has since moved.
  const next = nextOf(await ask('GET', '/accounts?sort=requestsToday&limit=1')) ?? '';
  await record([usageOf({ requests: 20, lastUsedAt: hourStart, hour: hourStart }, 0)]);
  expect(ours(await namesOf(next))).toEqual(['Ant']);
});

test('keys are listed newest first, and can be filtered by state', async () => {
  const { id: accountId } = await done<Named>('POST', '/accounts', { name: 'keys', plan: 'pro' });
  const made: number[] = [];
  for (let index = 0; index < 5; index++) {
    made.push((await done<Named>('POST', `/accounts/${accountId}/keys`, { name: `${index}` })).id);
  }
  const [one, two, three, four, five] = made as [number, number, number, number, number];
  await done('POST', `/keys/${two}/revoke`);
  await done('POST', `/keys/${four}/revoke`);
  const of = `/keys?accountId=${accountId}&limit=2`;
  expect(await idsOf(`${of}&order=desc`)).toEqual([five, four, three, two, one]);
  expect(await idsOf(`${of}&state=revoked`)).toEqual([two, four]);
  expect(await idsOf(`${of}&state=live&order=desc`)).toEqual([five, three, one]);
  expect(await idsOf(`${of}&state=expired`)).toEqual([]);
});

test('the totals contain the numbers of accounts, keys and orders, overall and by status', async () => {
  const before = await done<{ accounts: number; closedAccounts: number; keys: number }>('GET', '/totals');
  const { id } = await done<Named>('POST', '/accounts', { name: 'one more', plan: 'pro' });
  await done('POST', `/accounts/${id}/keys`, { name: 'one more' });
  await done('POST', `/accounts/${id}/close`);
  expect(await done<unknown>('GET', '/totals')).toEqual({
    accounts: before.accounts + 1,
    closedAccounts: before.closedAccounts + 1,
    keys: before.keys + 1,
    orders: 6,
    ordersByStatus: { placed: 5, approved: 0, delivered: 0, returned: 0, cancelled: 1 },
  });
});

test('categories in use are listed with their counts, and can be filtered by whether they have a name', async () => {
  await done('PUT', '/categories/1', { name: 'Odd' });
  const inUse = async (query: string) => {
    const answer = await callAdmin(app, 'GET', `/categories/in-use${query}`, { token: desk.operator.token });
    return answer.body;
  };
  const even = { id: 0, name: null, available: 1, pending: 2, sold: 0 };
  const odd = { id: 1, name: 'Odd', available: 1, pending: 3, sold: 0 };
  expect(await inUse('')).toEqual([even, odd]);
  expect(await inUse('?named=false')).toEqual([even]);
  expect(await inUse('?named=true')).toEqual([odd]);
  expect(await inUse('?limit=1')).toEqual([even]);
});

test('the audit log can be filtered by action', async () => {
  const { items } = await list<{ operation: string }>('/audit?operation=cancelOrder&limit=1');
  expect(items.map(({ operation }) => operation)).toEqual(['cancelOrder']);
  const actor = encodeURIComponent(`operator:${desk.operator.name}`);
  expect((await list(`/audit?operation=cancelOrder&actor=${actor}&object=order:2`)).items.length).toBe(1);
  expect((await list('/audit?operation=cancelOrder&object=order:1')).items).toEqual([]);
});

/** Parameters that do not select the contents of a list. `order` and `sort` are combined with every filter. */
const how = new Set(['limit', 'cursor', 'wait', 'after']);
const modes = new Set(['order', 'sort']);
/** Values for filters of every type. Some match nothing. */
const values = [
  ...['1', '0', '999999', '1970-01-01T00:00:00Z', '2999-01-01T00:00:00Z'],
  ...['z', 'order.placed', 'order:2'],
];

/** The settings of each parameter that may change the contents of a list, such as `status=sold`. */
function settingsOf(shape: Readonly<Record<string, unknown>>) {
  return Object.entries(shape as Record<string, z.ZodType>)
    .filter(([name]) => !how.has(name))
    .map(([name, schema]) => {
      const accepted = [...values, ...(wordsOf(schema) ?? [])].filter(
        (value) => schema.safeParse(value).success,
      );
      return { name, settings: accepted.map((value) => `${name}=${encodeURIComponent(value)}`) };
    });
}

const filteredLists = allAdminOperations
  .filter(({ paginated, feed }) => paginated || feed)
  .map(({ path, query }) => [path, settingsOf(query?.shape ?? {})] as const);

// The random walk checks the same for the lists of the client API (test/stress/walk/ways.ts).
test.each(filteredLists)(
  'the list %s applies every filter, alone and together with any other parameter',
  async (path, parameters) => {
    await addWebhook(app.config.databaseUrl, { accountId: 1 });
    await addDeliveries(app.config.databaseUrl, [failedDelivery(1n, 1n, app.clock.now())]);
    await done('POST', '/accounts/1/keys', { name: 'filtered' });
    const counted = new Map<string, number>();
    const count = async (...settings: readonly string[]) => {
      const target = `${path.replace(/\{\w+\}/, '1')}?${['limit=100', ...settings].join('&')}`;
      const known = counted.get(target) ?? (await done<unknown[]>('GET', target)).length;
      counted.set(target, known);
      return known;
    };
    // For a filter, one value that matches some items. For `order` and `sort`, every value.
    const bases = [{ name: '', setting: '' }];
    for (const { name, settings } of parameters) {
      const matching: string[] = [];
      for (const setting of settings) if ((await count(setting)) > 0) matching.push(setting);
      bases.push(...matching.slice(0, modes.has(name) ? undefined : 1).map((setting) => ({ name, setting })));
    }
    for (const { name, setting } of bases) {
      const all = await count(setting);
      expect(all).toBeGreaterThan(0);
      for (const filter of parameters.filter((one) => one.name !== name && !modes.has(one.name))) {
        const left = await Promise.all(filter.settings.map((one) => count(setting, one)));
        expect([setting, filter.name, Math.min(...left) < all]).toEqual([setting, filter.name, true]);
      }
    }
  },
);
