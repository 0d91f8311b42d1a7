/** Events for operators: all types, from all accounts. */

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { openStorage } from '../../src/app/store.ts';
import { revokeOperator } from '../../src/operations/admin/operators.ts';
import type { Transaction } from '../../src/storage/transaction.ts';
import { skippedIdsPerRestore } from '../../src/tables/events.ts';
import { addOperator, callAdmin } from '../support/admin.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { newPet } from '../support/pets.ts';
import { until } from '../support/wait.ts';

async function viewerOf(app: TestApp) {
  const { token } = await addOperator(app, 'viewer');
  return (target: string) => callAdmin(app, 'GET', target, { token });
}

const ids = ({ body }: { readonly body: unknown }) => (body as { id: number }[]).map(({ id }) => id);
const linkOf = ({ headers }: { readonly headers: Headers }) => headers.get('link');

/** Records an event that one account may read. */
const units = {
  record: {
    writes: [],
    run: ({ events }: Transaction, accountId: number) =>
      events.add({ type: 'webhook.disabled', data: '{"id":1,"reason":"gone"}', accountId, createdAt: 0 }),
  },
} as const;

test("operators can read every account's events, in the same format as clients", async () => {
  await using app = await startTestApp();
  const get = await viewerOf(app);
  expect((await get('/event-log')).body).toMatchObject({ lastId: 0, oldest: null, newest: null, perHour: 0 });
  await app.call('POST', '/pets', { body: newPet() });
  await app.call('POST', '/orders', { body: '{"petId":1}' });
  const client = await app.call('GET', '/events');
  expect((await get('/events')).text).toBe(client.text);
  const { clock, config, tenant } = app;
  const rules = config.limits;
  await using store = await openStorage({ url: config.databaseUrl, clock, rules, isServing: false, units });
  await store.write('record', (await tenant('free')).account.id);
  expect((await app.call('GET', '/events?type=webhook.*')).json).toEqual([]);
  expect(ids(await get('/events?type=webhook.*'))).toEqual([4]);
  const page = await get('/events?order=desc&limit=1&type=pet.*&type=pet.*');
  expect([ids(page), linkOf(page)]).toEqual([
    [2],
    '</admin/v1/events?limit=1&type=pet.*&after=4>; rel="next"',
  ]);
  expect((await get('/events?after=9')).code).toBe('events_expired');
  expect((await get('/events?after=1&order=desc')).code).toBe('invalid_parameter');
});

test('a request that waits for events returns the next event, and is counted in the metrics while it waits', async () => {
  await using app = await startTestApp();
  const get = await viewerOf(app);
  const end = /after=(\d+)/.exec(linkOf(await get('/events?order=desc&limit=1')) ?? '')?.[1];
  const waiting = get(`/events?after=${end}&wait=30`);
  await until(async () => /^animal_store_event_listeners 1$/m.test((await get('root:/metrics')).text));
  await app.call('POST', '/pets', { body: newPet() });
  expect(ids(await waiting)).toEqual([Number(end) + 1]);
});

test('requests of an operator that wait for events do not prevent its other reads', async () => {
  await using app = await startTestApp();
  const get = await viewerOf(app);
  const waiting = [1, 2, 3].map(() => get('/events?wait=30'));
  await until(async () => /^animal_store_event_listeners 3$/m.test((await get('root:/metrics')).text));
  expect((await get('/accounts')).status).toBe(200);
  await app.call('POST', '/pets', { body: newPet() });
  for (const response of await Promise.all(waiting)) expect(ids(response)).toEqual([1]);
});

test('a request that waits for an event gets 401 if its operator is revoked in the meantime', async () => {
  await using app = await startTestApp();
  const { token, id } = await addOperator(app, 'viewer');
  const get = await viewerOf(app);
  const waiting = callAdmin(app, 'GET', '/events?wait=30', { token });
  await until(async () => /^animal_store_event_listeners 1$/m.test((await get('root:/metrics')).text));
  await revokeOperator(app.app.admin, id);
  await app.call('POST', '/pets', { body: newPet() });
  expect((await waiting).status).toBe(401);
});

test('the number of events per hour does not include ids skipped by a restore', async () => {
  await using app = await startTestApp();
  const get = await viewerOf(app);
  const addPets = async (count: number) => {
    for (let pet = 0; pet < count; pet++) await app.call('POST', '/pets', { body: newPet() });
  };
  await addPets(3);
  for (let restored = 0; restored < 2; restored++) {
    using database = new Database(app.config.databaseUrl.replace('sqlite:', ''));
    database.run('PRAGMA busy_timeout = 10000');
    database.run("UPDATE sqlite_sequence SET seq = seq + ? WHERE name = 'events'", [
      skippedIdsPerRestore * (restored + 1),
    ]);
    await addPets(4);
  }
  // A reader whose position is after the last restored event has received an event that was lost.
  for (const after of [3, 8]) {
    const expired = await get(`/events?after=${after}`);
    const next = 3 + skippedIdsPerRestore + 1;
    expect([expired.code, expired.text]).toEqual([
      'events_expired',
      expect.stringContaining(
        `after ${after} are no longer retained; the next id is ${next}. The store was restored`,
      ),
    ]);
  }
  app.clock.advance(3_600);
  const newest = { id: 3 * skippedIdsPerRestore + 11 };
  expect((await get('/event-log')).body).toMatchObject({ perHour: 11, oldest: { id: 1 }, newest });
});

test('the API and the metrics report the oldest event, the newest event and the number of events per hour', async () => {
  await using app = await startTestApp();
  const get = await viewerOf(app);
  for (let pet = 0; pet < 4; pet++) await app.call('POST', '/pets', { body: newPet() });
  app.clock.advance(7_200);
  const { body } = await get('/event-log');
  expect(body).toMatchObject({
    ...{ areRecorded: true, keepDays: 30, perHour: 2 },
    ...{ oldest: { id: 1 }, newest: { id: 4 } },
  });
  const { text } = await get('root:/metrics');
  expect(text).toContain(`\nanimal_store_events_total 4\n`);
  expect(text).toMatch(/^animal_store_event_oldest_age_seconds 72\d\d(\.\d+)?$/m);
  expect(text).toContain('\nanimal_store_event_retention_seconds 2592000\n');
});
