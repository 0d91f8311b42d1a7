/** All instances of a store must use the same Redis. A restart or a failover is not mistaken for a second server. */
import { afterAll, describe, expect, test } from 'bun:test';
import { RedisClient } from 'bun';
import { troubles } from '../../src/domain/trouble.ts';
import { openSession } from '../storage/postgres-kit.ts';
import { movableAddress } from '../support/movable-address.ts';
import { type OwnServer, ownRedis, testServers } from '../support/servers.ts';
import { until } from '../support/wait.ts';
import { take } from './limit-bench.ts';
import { ample, callerOf, clusterBench, type Instance } from './redis-cluster-bench.ts';

const servers = await testServers();
const redis = servers && (await ownRedis());
const second = servers && (await ownRedis());
afterAll(async () => {
  await servers?.[Symbol.asyncDispose]();
  await redis?.[Symbol.asyncDispose]();
  await second?.[Symbol.asyncDispose]();
});

const caller = callerOf(1, ample);

function refusalOf({ store }: Instance): string | undefined {
  try {
    store.health();
    return undefined;
  } catch (error) {
    return String(((error as Error).cause as Error).message);
  }
}

async function send(url: string, command: string, ...args: string[]): Promise<unknown> {
  const client = new RedisClient(url);
  try {
    return await client.send(command, args);
  } finally {
    client.close();
  }
}

describe.skipIf(redis === undefined || second === undefined)('instances of one store', () => {
  // These tests are skipped if no database servers are available.
  const there = servers ?? ({} as NonNullable<typeof servers>);
  const [one, two] = [redis, second] as [OwnServer, OwnServer];

  /** Two instances that use the first server, each through a separate address. */
  async function opened() {
    await using made = new AsyncDisposableStack();
    const addresses = [made.use(movableAddress(one.url)), made.use(movableAddress(one.url))] as const;
    const schema = made.use(await there.makeSchema());
    const makeSchema = async () => ({ ...schema, [Symbol.asyncDispose]: async () => undefined });
    const bench = made.use(await clusterBench({ ...there, makeSchema }, addresses[0].url));
    await bench.other[Symbol.asyncDispose]();
    const other = made.use(await bench.open(addresses[1].url));
    const session = made.use(openSession(schema.url));
    /** Waits until both instances have read this number of identities after the call. */
    const readings = async (identities: number) => {
      const [{ now }] = await session`SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now`;
      await until(async () => {
        const rows: { server: string; read_from: bigint }[] =
          await session`SELECT server, read_from FROM redis_readings`;
        const isRead = rows.length === 2 && rows.every(({ read_from }) => read_from > now);
        return isRead && new Set(rows.map(({ server }) => server)).size === identities;
      });
    };
    const kept = made.move();
    return {
      ...{ bench, addresses, first: bench.one, other, readings, session },
      [Symbol.asyncDispose]: () => kept.disposeAsync(),
    };
  }

  test('an instance with another Redis does not start, and the message names the remedy', async () => {
    await using store = await opened();
    const failure = await store.bench.open(two.url).catch((error: Error) => error.message);
    expect(failure).toContain(`${two.url}`.replace(/\/$/, ''));
    expect(failure).toContain('Set REDIS_URL to the same server for all instances');
    expect([refusalOf(store.first), refusalOf(store.other)]).toEqual([undefined, undefined]);
  });

  test('an instance whose Redis becomes another server rejects requests until it uses the same server again', async () => {
    await using store = await opened();
    store.addresses[1].move(two.url);
    await until(() => refusalOf(store.other) !== undefined);
    expect(refusalOf(store.other)).toContain('Set the same REDIS_URL for all.');
    expect(store.other.notices.at(-1)).toContain('Set REDIS_URL to the same server for all instances');
    await expect((async () => store.other.store.limits.take(caller, 1))()).rejects.toMatchObject({
      code: 'service_unavailable',
    });
    expect(refusalOf(store.first)).toBeUndefined();
    expect((await take(store.first.store, caller)).refusal).toBeUndefined();
    store.addresses[1].move(one.url);
    await until(() => refusalOf(store.other) === undefined);
    expect(store.other.notices.at(-1)).toBe('all instances use the same Redis again');
  });

  test('an instance with another Redis starts once the instances that used the first one have stopped', async () => {
    const store = await opened();
    await using bench = store;
    await store.first[Symbol.asyncDispose]();
    await store.other[Symbol.asyncDispose]();
    await using moved = await bench.bench.open(two.url);
    expect(refusalOf(moved)).toBeUndefined();
  });

  const changes: Record<string, (store: Awaited<ReturnType<typeof opened>>) => Promise<unknown>> = {
    'Redis has lost its data': () => send(one.url, 'FLUSHALL'),
    'Redis has restarted without its data': async () => {
      await one.stop('SIGKILL');
      await one.start();
    },
    'Redis has lost its data while an instance could not reach it': async ({ addresses, other, session }) => {
      addresses[1].move('redis://127.0.0.1:1');
      await until(() => other.store.health().includes(troubles.redis));
      const [former] = await session`SELECT server FROM redis_readings LIMIT 1`;
      await send(one.url, 'FLUSHALL');
      await until(async () => {
        const again: unknown[] = await session`
          SELECT 1 FROM redis_readings WHERE server <> ${former.server} AND read_from > since + 2000`;
        return again.length > 0;
      });
      addresses[1].move(one.url);
    },
    'a replica has taken over, and an instance still used the former primary for a while': async (store) => {
      const { hostname, port } = new URL(one.url);
      await send(two.url, 'REPLICAOF', hostname, port);
      await until(async () =>
        String(await send(two.url, 'INFO', 'replication')).includes('master_link_status:up'),
      );
      await send(two.url, 'REPLICAOF', 'NO', 'ONE');
      store.addresses[0].move(two.url);
      await until(async () => (await take(store.first.store, caller)).refusal === undefined);
      store.addresses[1].move(two.url);
    },
  };

  test("no instance rejects requests after PostgreSQL's clock has gone back and Redis has lost its data", async () => {
    await using store = await opened();
    await store.readings(1);
    const aheadMs = 90_000;
    const [former] = await store.session`
      UPDATE redis_readings SET since = since + ${aheadMs}, read_from = read_from + ${aheadMs},
        read_until = read_until + ${aheadMs} RETURNING server, read_until`;
    await until(async () => {
      const corrected: unknown[] = await store.session`
        SELECT 1 FROM redis_readings WHERE since < ${former.read_until}::bigint - 10000`;
      return corrected.length === 2;
    });
    // The reading of an instance that has crashed, so that it never reads again.
    await store.session`
      INSERT INTO redis_readings (process, origin, server, since, read_from, read_until)
      VALUES ('crashed', 'elsewhere', ${former.server}, 0, ${former.read_until}, ${former.read_until})`;
    await send(one.url, 'FLUSHALL');
    await until(async () => {
      const again: { isAgain: boolean }[] = await store.session`
        UPDATE redis_readings SET read_until = since - 15000 WHERE server <> ${former.server}
        RETURNING read_from > since + 2000 AS "isAgain"`;
      return again.length === 2 && again.every(({ isAgain }) => isAgain);
    });
    expect([refusalOf(store.first), refusalOf(store.other)]).toEqual([undefined, undefined]);
    expect(`${store.first.notices}${store.other.notices}`).not.toContain('REDIS_URL');
  });

  for (const [name, change] of Object.entries(changes)) {
    test(`no instance rejects requests after ${name}`, async () => {
      await using store = await opened();
      const seen = new Set<string | undefined>();
      const watching = setInterval(() => {
        for (const instance of [store.first, store.other]) seen.add(refusalOf(instance));
      }, 5);
      await change(store);
      await store.session`UPDATE redis_readings SET read_until = 0`;
      await store.readings(1);
      await store.session`UPDATE redis_readings SET read_until = 0`;
      await store.readings(1);
      clearInterval(watching);
      expect([...seen]).toEqual([undefined]);
      expect(store.other.notices.join()).not.toContain('REDIS_URL');
    });
  }
});
