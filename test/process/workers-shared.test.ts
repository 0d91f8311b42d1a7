/** Workers on the embedded store. A change by one worker or an operator applies to the next request on every worker. */

import { expect } from 'bun:test';
import { liftBan } from '../../src/operations/admin/bans.ts';
import { clientOf } from '../support/client.ts';
import { until } from '../support/wait.ts';
import { countedWindow } from '../support/windows.ts';
import { EachWorker, headerOf } from './each-worker.ts';
import { embeddedTests } from './worker-stores.ts';

const embeddedTest = embeddedTests();

const workers = 3;
const all = <T>(value: T): T[] => Array.from({ length: workers }, () => value);
const settings = { WORKERS: String(workers) };

embeddedTest(
  'an animal created by one worker is listed by every worker in the next request',
  async (stores) => {
    await using service = await stores.startInstance(settings);
    const { key } = await stores.issueKey();
    using each = await EachWorker.meet(service, key, workers);
    for (let round = 0; round < 3; round++) {
      for (const [number, writer] of each.connections.entries()) {
        // Makes each worker cache the page.
        await each.ask('/v1/pets?limit=100', key);
        const { status, body } = await writer.add(`animal ${round} of ${number}`, key);
        expect(status).toBe(201);
        for (const page of await each.ask('/v1/pets?limit=100', key)) expect(page.body).toContain(body);
      }
    }
  },
);

embeddedTest(
  "an operator's changes to keys and accounts take effect on every worker immediately",
  async (stores) => {
    const { operator, issueKey } = stores;
    await using service = await stores.startInstance(settings);
    using each = await EachWorker.meet(service, (await issueKey()).key, workers);

    const { key, keyId, accountId } = await issueKey();
    expect(await each.statuses(key)).toEqual(all(200));
    const successor = await operator.keys.rotate(keyId, 0);
    expect(await each.statuses(key)).toEqual(all(401));
    expect(await each.statuses(successor.key)).toEqual(all(200));

    await operator.accounts.update(accountId, {
      plan: 'enterprise',
      custom: { perMinute: 777, perDay: 1_000_000_000 },
    });
    for (const reply of await each.ask('/v1/pets', successor.key)) {
      expect([reply.status, headerOf(reply, 'x-ratelimit-limit')]).toEqual([200, '777']);
    }
    await operator.keys.revoke(successor.id);
    expect(await each.statuses(successor.key)).toEqual(all(401));
  },
);

embeddedTest('a ban applies to all workers until it is lifted, and is logged once', async (stores) => {
  await using service = await stores.startInstance({
    ...settings,
    BAN_STRIKES: '3',
    BAN_FIRST_SECONDS: '86400',
  });
  using each = await EachWorker.meet(service, (await stores.issueKey()).key, workers);
  // Uses daily limits, because a minute may end during the test.
  const { key, keyId } = await stores.issueKey({ perMinute: 1, perDay: 1 });
  const [one] = each.connections;
  const ask = async () => (await one?.get('/v1/pets', key))?.body;
  await ask();
  expect(await ask()).toContain('daily_quota_exceeded');
  // Rejected requests count as strikes only from one second after the first rejection. If they were sent without a
  // pause, the service would close the connection.
  const refusedAt = performance.now();
  await until(() => performance.now() - refusedAt > 1_000);
  for (let strike = 1; strike <= 3; strike++) await ask();
  expect(await ask()).toContain('api_key_banned');
  for (const { body } of await each.ask('/v1/pets', key)) expect(body).toContain('api_key_banned');
  await liftBan(stores.operator, keyId);
  for (const { body } of await each.ask('/v1/pets', key)) expect(body).toContain('daily_quota_exceeded');
  service.signal('SIGTERM');
  await service.exited;
  expect(service.stderr().match(/"API key banned"/g)).toHaveLength(1);
});

embeddedTest(
  'all workers combined accept exactly as many requests from an account with two keys as its limit allows, and return each Remaining value once',
  async (stores) => {
    await using service = await stores.startInstance({ WORKERS: '4' });
    for (let window = 0; window < 3; window++) {
      const limit = 100 + window;
      const { key, accountId } = await stores.issueKey({ perMinute: limit, perDay: limit });
      const second = await stores.operator.keys.create(accountId, 'second');
      const clients = [clientOf(service.url, key), clientOf(service.url, second.key)];
      const remaining = await countedWindow(clients, limit);
      expect(remaining).toEqual(Array.from({ length: limit }, (_, value) => value));
    }
  },
);

embeddedTest('failed authentications from an address are counted across all workers', async (stores) => {
  const most = 12;
  await using service = await stores.startInstance({
    ...settings,
    AUTH_FAILURES_PER_MINUTE: String(most),
  });
  using each = await EachWorker.meet(service, (await stores.issueKey()).key, workers);
  const statuses: number[] = [];
  for (let round = 0; round < most / workers; round++) statuses.push(...(await each.statuses('unknown')));
  expect(statuses).toEqual(Array.from({ length: most }, () => 401));
  expect(await each.statuses('unknown')).toEqual(all(429));
});

embeddedTest(
  'concurrent create requests on all workers get contiguous ids that ascend for every client',
  async (stores) => {
    await using service = await stores.startInstance(settings);
    const { key } = await stores.issueKey();
    using each = await EachWorker.meet(service, key, workers);
    const perWorker = 30;
    const idsOfEach = await Promise.all(
      each.connections.map(async (connection, number) => {
        const ids: number[] = [];
        for (let count = 0; count < perWorker; count++) {
          const { body } = await connection.add(`${count} of ${number}`, key);
          ids.push((JSON.parse(body) as { id: number }).id);
        }
        return ids;
      }),
    );
    for (const ids of idsOfEach) expect(ids).toEqual(ids.toSorted((one, other) => one - other));
    const together = idsOfEach.flat().sort((one, other) => one - other);
    expect(together).toEqual(Array.from({ length: workers * perWorker }, (_, index) => index + 1));
  },
);
