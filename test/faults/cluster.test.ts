/** Several instances in separate processes. Each instance applies changes that another instance has acknowledged. */

import { afterAll, describe, expect, test } from 'bun:test';
import { liftBan } from '../../src/operations/admin/bans.ts';
import { type Client, clientOf } from '../support/client.ts';
import { startCluster } from '../support/cluster.ts';
import { until } from '../support/wait.ts';
import { countedWindow } from '../support/windows.ts';

const cluster = await startCluster({
  instances: 3,
  environment: { BAN_STRIKES: '3', BAN_FIRST_SECONDS: '86400' },
});
afterAll(() => cluster?.[Symbol.asyncDispose]());

describe.skipIf(cluster === undefined)('three instances', () => {
  // These tests are skipped if no database servers are available.
  const { instances, operator, issueKey } = cluster ?? ({} as NonNullable<typeof cluster>);
  const clientsOf = (key: string): Client[] => instances.map(({ url }) => clientOf(url, key));
  const statuses = (clients: Client[]) =>
    Promise.all(clients.map(async (client) => (await client.get('/pets')).status));

  test('that start concurrently on an empty store create a single initial account with a single key', async () => {
    await Promise.all(instances.map((instance) => instance.logged('"msg":"serving"')));
    const withKey = () => instances.filter(({ firstKey }) => firstKey !== undefined).length;
    await until(() => withKey() > 0);
    expect(withKey()).toBe(1);
    const first = (await operator.storage.accounts.list(0, 100)).filter(({ name }) => name === 'default');
    expect(first.length).toBe(1);
    const keys = (await operator.storage.keys.list(0, 100)).filter(
      ({ accountId }) => accountId === first[0]?.id,
    );
    expect(keys.length).toBe(1);
  });

  test('accept exactly as many requests as the limit allows, and return each value of Remaining exactly once', async () => {
    for (let window = 0; window < 3; window++) {
      const limit = 100 + window;
      const { key } = await issueKey({ perMinute: limit, perDay: limit });
      const remaining = await countedWindow(clientsOf(key), limit);
      expect(remaining).toEqual(Array.from({ length: limit }, (_, value) => value));
    }
  });

  test('show an animal as soon as any instance has acknowledged its creation', async () => {
    const clients = clientsOf((await issueKey()).key);
    for (let round = 0; round < 9; round++) {
      const pages = await Promise.all(clients.map((client) => client.get('/pets?limit=100')));
      const writer = clients[round % clients.length] as Client;
      const { text } = await writer.add(`round ${round}`);
      for (const [index, client] of clients.entries()) {
        const page = (await client.get('/pets?limit=100')).text;
        expect(page).toContain(text);
        expect(pages[index]?.text).not.toContain(text);
      }
    }
  });

  test('apply key revocations, plan changes and ban removals to the next request', async () => {
    const revoked = await issueKey();
    expect(await statuses(clientsOf(revoked.key))).toEqual([200, 200, 200]);
    await operator.keys.revoke(revoked.keyId);
    expect(await statuses(clientsOf(revoked.key))).toEqual([401, 401, 401]);

    // Uses daily limits, because a minute may end during the test.
    const changed = await issueKey({ perMinute: 3, perDay: 3 });
    expect(await statuses(clientsOf(changed.key))).toEqual([200, 200, 200]);
    expect(await statuses(clientsOf(changed.key))).toEqual([429, 429, 429]);
    await operator.accounts.update(changed.accountId, { plan: 'pro' });
    expect(await statuses(clientsOf(changed.key))).toEqual([200, 200, 200]);

    const banned = await issueKey({ perMinute: 1, perDay: 1 });
    expect((await statuses(clientsOf(banned.key))).sort()).toEqual([200, 429, 429]);
    // Requests rejected within one second of the first rejection do not count as strikes.
    const codes = async () =>
      Promise.all(clientsOf(banned.key).map(async (client) => (await client.get('/pets')).text));
    await until(async () => (await codes()).some((text) => text.includes('api_key_banned')));
    for (const text of await codes()) expect(text).toContain('api_key_banned');
    await liftBan(operator, banned.keyId);
    for (const client of clientsOf(banned.key)) {
      expect((await client.get('/pets')).text).toContain('daily_quota_exceeded');
    }
  });
});
