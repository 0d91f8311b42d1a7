/** Redis is stopped, killed, frozen or emptied. Requests still succeed, and limits still apply. */
import { afterAll, describe, expect, test } from 'bun:test';
import { RedisClient } from 'bun';
import { type Client, clientOf } from '../support/client.ts';
import { startCluster } from '../support/cluster.ts';
import { load, readiness, untilAll } from '../support/load.ts';

// Short enough to detect a frozen Redis quickly, and long enough for a busy machine.
const cluster = await startCluster({ instances: 2, environment: { REDIS_TIMEOUT_MS: '3000' } });
afterAll(() => cluster?.[Symbol.asyncDispose]());

describe.skipIf(cluster === undefined)('Redis outage', () => {
  // These tests are skipped if no database servers are available.
  const { instances, issueKey, redis, startInstance } = cluster ?? ({} as NonNullable<typeof cluster>);
  const clientsOf = (key: string): Client[] => instances.map(({ url }) => clientOf(url, key));
  const urls = () => instances.map(({ url }) => url);
  const degraded = () => untilAll(urls(), 'degraded');
  const ready = () => untilAll(urls(), 'ready');

  const away: Record<string, { begin: () => Promise<void>; end: () => Promise<void> }> = {
    stopped: { begin: () => redis.stop('SIGTERM'), end: () => redis.start() },
    'killed (-9)': { begin: () => redis.stop('SIGKILL'), end: () => redis.start() },
    frozen: { begin: () => redis.freeze(), end: () => redis.thaw() },
  };

  for (const [name, { begin, end }] of Object.entries(away)) {
    test(`when Redis is ${name}, every request still succeeds, and the instances recover afterwards`, async () => {
      const clients = clientsOf((await issueKey()).key);
      const reading = load(8, (number) => (clients[number % 2] as Client).get('/pets'), 20);
      const writing = load(2, (number) => (clients[number % 2] as Client).add(`${name} ${number}`));
      await Promise.all([reading.more(50), writing.more(5)]);
      await begin();
      await degraded();
      expect((await readiness(instances[0]?.url ?? '')).trouble?.join()).toContain('Redis is unavailable');
      await Promise.all([reading.more(50), writing.more(5)]);
      await end();
      await ready();
      await Promise.all([reading.more(50), writing.more(5)]);
      const replies = [...(await reading.stop()), ...(await writing.stop())];
      expect(replies.filter(({ status }) => status !== 200 && status !== 201)).toEqual([]);
    });

    test(`when Redis is ${name}, each instance continues to count from the last known state, and reconciles its counts afterwards`, async () => {
      const limit = 40;
      const clients = clientsOf((await issueKey({ perMinute: limit, perDay: limit })).key);
      const take = async (client: Client, times: number) => {
        const replies = await Promise.all(Array.from({ length: times }, () => client.get('/pets')));
        return replies.filter(({ status }) => status === 200).length;
      };
      for (const client of clients) expect(await take(client, 10)).toBe(10);
      await begin();
      await degraded();
      // The second instance counted the last ten of the 20 requests, so it knows of all 20. The first instance may know
      // of only its own ten, unless it has read the others from a snapshot in PostgreSQL.
      const first = await take(clients[0] as Client, 50);
      expect(first).toBeGreaterThanOrEqual(limit - 20);
      expect(first).toBeLessThanOrEqual(limit - 10);
      expect(await take(clients[1] as Client, 50)).toBeLessThanOrEqual(limit - 20);
      await end();
      await ready();
      const reply = await (clients[0] as Client).get('/pets');
      expect(reply.status).toBe(429);
    });
  }

  test('a Redis that evicts keys causes one warning at each start, and a bounded Redis without eviction causes none', async () => {
    const admin = new RedisClient(redis.url);
    const configure = async (policy: string, bytes: string) => {
      await admin.send('CONFIG', ['SET', 'maxmemory-policy', policy]);
      await admin.send('CONFIG', ['SET', 'maxmemory', bytes]);
    };
    try {
      await configure('noeviction', '1gb');
      const quiet = await startInstance();
      await configure('allkeys-lru', '1gb');
      const evicting = await startInstance();
      const { host } = new URL(redis.url);
      await evicting.logged(
        `Redis ${host} evicts keys when its memory is full (maxmemory-policy allkeys-lru), which resets limits and bans.`,
      );
      expect(quiet.stderr()).not.toContain('evicts');
    } finally {
      await configure('noeviction', '0');
      admin.close();
    }
  });

  test('when Redis is emptied, counts are restored, and outdated cached pages are not served', async () => {
    const clients = clientsOf((await issueKey({ perMinute: 50, perDay: 50 })).key);
    for (const client of clients) for (let index = 0; index < 10; index++) await client.get('/pets');
    const admin = new RedisClient(redis.url);
    await admin.send('FLUSHALL', []);
    admin.close();
    const { text } = await (clients[0] as Client).add('after it was emptied');
    const { id } = JSON.parse(text) as { id: number };
    const reply = await (clients[1] as Client).get(`/pets/${id}`);
    expect(reply.text).toBe(text);
    // Each instance has served ten requests. The restored count includes at least one instance's ten requests.
    expect(reply.remaining).toBeLessThanOrEqual(50 - 10 - 2);
  });
});
