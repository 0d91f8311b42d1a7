/** All instances of a store must use the same Redis. A restart or a failover is not mistaken for a second server. */
import { afterAll, describe, expect, test } from 'bun:test';
import { RedisClient } from 'bun';
import { troubles } from '../../src/domain/troubles.ts';
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

/** Makes the second server a replica of the first, and then a primary with the same data. */
async function promoted(): Promise<void> {
  const [one, two] = [redis, second] as [OwnServer, OwnServer];
  const { hostname, port } = new URL(one.url);
  await send(two.url, 'REPLICAOF', hostname, port);
  await until(async () =>
    String(await send(two.url, 'INFO', 'replication')).includes('master_link_status:up'),
  );
  await send(two.url, 'REPLICAOF', 'NO', 'ONE');
}

describe.skipIf(redis === undefined || second === undefined)('instances of one store', () => {
  // These tests are skipped if no database servers are available.
  const there = servers ?? ({} as NonNullable<typeof servers>);
  const [one, two] = [redis, second] as [OwnServer, OwnServer];

  type Opened = Awaited<ReturnType<typeof opened>>;

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
    /** Waits until all instances have read this number of identities after the call. */
    const readings = async (identities: number, instances = 2) => {
      const [{ now }] = await session`SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now`;
      await until(async () => {
        const rows: { server: string; read_from: bigint }[] =
          await session`SELECT server, read_from FROM redis_readings`;
        const isRead = rows.length === instances && rows.every(({ read_from }) => read_from > now);
        return isRead && new Set(rows.map(({ server }) => server)).size === identities;
      });
    };
    const kept = made.move();
    return {
      ...{ bench, addresses, first: bench.one, other, readings, session },
      [Symbol.asyncDispose]: () => kept.disposeAsync(),
    };
  }

  /**
   * The reason why an instance or a command does not start with the second server. Only a server that does not respond in
   * time, as on a busy machine, does not prevent the start, which is then repeated.
   */
  async function startFailure({ bench }: Pick<Opened, 'bench'>, isServing = true): Promise<string> {
    for (;;) {
      const started = await bench.open(two.url, isServing).catch((error: Error) => error.message);
      if (typeof started === 'string') return started;
      await using instance = started;
      expect(instance.notices.join('\n')).toContain('Redis unavailable');
    }
  }

  test('an instance with another Redis does not start, and the message names the remedy', async () => {
    await using store = await opened();
    const failure = await startFailure(store);
    expect(failure).toContain(`${two.url}`.replace(/\/$/, ''));
    expect(failure).toContain('Set REDIS_URL to the same server for all instances');
    expect([refusalOf(store.first), refusalOf(store.other)]).toEqual([undefined, undefined]);
  });

  test('a command with another Redis fails, and the message names the remedy', async () => {
    await using store = await opened();
    expect(await startFailure(store, false)).toContain('Set REDIS_URL to the same server for all instances');
    expect([refusalOf(store.first), refusalOf(store.other)]).toEqual([undefined, undefined]);
    await using same = await store.bench.open(one.url, false);
    expect(await same.store.limits.bans()).toEqual([]);
    const stored: { process: string }[] = await store.session`SELECT process FROM redis_readings`;
    expect(stored).toHaveLength(2);
  });

  test('an instance whose Redis address switches to a different server rejects requests until it switches back', async () => {
    await using store = await opened();
    store.addresses[1].move(two.url);
    await until(() => refusalOf(store.other) !== undefined);
    expect(refusalOf(store.other)).toContain('Set the same REDIS_URL for all.');
    expect(store.other.notices.at(-1)).toContain('Set REDIS_URL to the same server for all instances');
    await expect((async () => store.other.store.limits.take(caller, 1))()).rejects.toMatchObject({
      code: 'service_unavailable',
    });
    expect(refusalOf(store.first)).toBeUndefined();
    expect((await take(store.first.store, caller)).errorCode).toBeUndefined();
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

  test('an instance whose Redis was promoted from a replica of the other Redis rejects requests', async () => {
    await using store = await opened();
    const before = store.other.notices.length;
    await promoted();
    store.addresses[1].move(two.url);
    await until(() => refusalOf(store.other) !== undefined);
    expect(store.other.notices.slice(before).join()).toContain('use different Redis servers');
    expect(refusalOf(store.first)).toBeUndefined();
    store.addresses[1].move(one.url);
    await until(() => refusalOf(store.other) === undefined);
  });

  test('new instances that use a copy of the Redis data reject requests, even if they outnumber the others', async () => {
    await using store = await opened();
    await until(async () => {
      const rows: unknown[] = await store.session`SELECT 1 FROM redis_readings WHERE is_confirmed`;
      return rows.length === 2;
    });
    await promoted();
    await using started = new AsyncDisposableStack();
    const others = await Promise.all([1, 2, 3].map(async () => started.use(await store.bench.open(two.url))));
    await until(() => others.every((other) => refusalOf(other) !== undefined));
    expect([store.first, store.other].map(refusalOf)).toEqual([undefined, undefined]);
  });

  test('an instance that may not run INFO uses the same Redis as the others', async () => {
    await using store = await opened();
    await send(one.url, 'ACL', 'SETUSER', 'limited', 'on', '>word', '~*', '&*', '+@all', '-info');
    const url = new URL(one.url);
    url.username = 'limited';
    url.password = 'word';
    store.addresses[1].move(one.url);
    await using limited = await store.bench.open(url.href);
    const rows = async () =>
      (await store.session`SELECT server FROM redis_readings`).map(
        ({ server }: { server: string }) => server,
      );
    await until(async () => (await rows()).length === 3);
    expect((await rows()).map((server: string) => server.includes('/')).sort()).toEqual([false, true, true]);
    expect([store.first, store.other, limited].map(refusalOf)).toEqual([undefined, undefined, undefined]);
    expect(limited.notices.join()).not.toContain('REDIS_URL');
  });

  describe('while the instances cannot reach their Redis', () => {
    const nowhere = 'redis://127.0.0.1:1';
    type Opened = Awaited<ReturnType<typeof opened>>;

    /** Redis is down for both instances, which have read it before. */
    async function interrupted(store: Opened, running = 2): Promise<void> {
      await confirmed(store, running);
      for (const address of store.addresses) address.move(nowhere);
      await until(() =>
        [store.first, store.other].every((each) => each.store.health().includes(troubles.redis)),
      );
    }

    async function confirmed({ session }: Opened, count: number): Promise<void> {
      await until(async () => {
        const rows: unknown[] = await session`SELECT 1 FROM redis_readings WHERE is_confirmed`;
        return rows.length === count;
      });
    }

    /** Redis works again for both instances, without its data. */
    async function restarted({ addresses }: Opened): Promise<void> {
      await send(one.url, 'FLUSHALL');
      for (const address of addresses) address.move(one.url);
    }

    const other =
      'used when it was last able to reach its server. Set REDIS_URL to the same server for all instances';

    test('an instance or command with another Redis fails, and the message names the remedy', async () => {
      await using store = await opened();
      await interrupted(store);
      // The readings are as old as after an outage of several minutes.
      await store.session`UPDATE redis_readings SET since = since - 200000, read_from = read_from - 200000`;
      const failures = [true, false].map((isServing) => startFailure(store, isServing));
      for (const failure of await Promise.all(failures)) expect(failure).toContain(other);
      await restarted(store);
      await store.readings(1);
      expect([refusalOf(store.first), refusalOf(store.other)]).toEqual([undefined, undefined]);
    });

    test('an instance with another Redis does not start after the others have restarted', async () => {
      await using store = await opened();
      await interrupted(store);
      await using first = await store.bench.open(store.addresses[0].url);
      await confirmed(store, 3);
      await store.first[Symbol.asyncDispose]();
      await store.other[Symbol.asyncDispose]();
      expect(await startFailure(store)).toContain(other);
      await restarted(store);
      await until(() => first.store.health().length === 0);
      expect(refusalOf(first)).toBeUndefined();
    });

    test('an instance with the same Redis starts once the others reach it, even if Redis has lost its data', async () => {
      await using store = await opened();
      await interrupted(store);
      await send(one.url, 'FLUSHALL');
      const opening = store.bench.open(one.url);
      await until(async () => {
        const rows: unknown[] = await store.session`SELECT 1 FROM redis_readings WHERE NOT is_confirmed`;
        return rows.length === 1;
      });
      for (const address of store.addresses) address.move(one.url);
      await using started = await opening;
      await confirmed(store, 3);
      expect([store.first, store.other, started].map(refusalOf)).toEqual([undefined, undefined, undefined]);
    });

    test('an instance that has started without Redis and then reaches another Redis is the one that rejects requests', async () => {
      await using store = await opened();
      await using address = movableAddress(one.url);
      address.move(nowhere);
      await using third = await store.bench.open(address.url);
      // Until it can read a server, the third instance has the reading of the others.
      await interrupted(store, 3);
      const seen = new Set<string | undefined>();
      const watching = setInterval(() => {
        for (const instance of [store.first, store.other]) seen.add(refusalOf(instance));
      }, 5);
      address.move(two.url);
      await until(async () => {
        const rows: unknown[] = await store.session`SELECT 1 FROM redis_readings WHERE NOT is_confirmed`;
        return rows.length === 1;
      });
      await restarted(store);
      await until(() => refusalOf(third) !== undefined);
      await until(() => [store.first, store.other].every((each) => each.store.health().length === 0));
      clearInterval(watching);
      expect([...seen]).toEqual([undefined]);
    });

    test('an instance starts with the Redis of a running instance, even if another running instance cannot reach it', async () => {
      await using store = await opened();
      await confirmed(store, 2);
      store.addresses[0].move(nowhere);
      await until(() => store.first.store.health().includes(troubles.redis));
      await send(one.url, 'FLUSHALL');
      await until(async () => {
        const rows: unknown[] = await store.session`SELECT DISTINCT server FROM redis_readings`;
        return rows.length === 2;
      });
      await using started = await store.bench.open(one.url);
      expect([store.other, started].map(refusalOf)).toEqual([undefined, undefined]);
    });

    test('an instance starts even if an instance with another Redis has just crashed', async () => {
      await using store = await opened();
      await store.first[Symbol.asyncDispose]();
      await store.other[Symbol.asyncDispose]();
      await store.session`
        INSERT INTO redis_readings (process, origin, server, since, read_from, read_until)
        SELECT 'crashed', 'elsewhere', 'former', now, now, now
        FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now) AS clock`;
      await using started = await store.bench.open(two.url);
      expect(refusalOf(started)).toBeUndefined();
    });
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
      await promoted();
      store.addresses[0].move(two.url);
      await until(async () => (await take(store.first.store, caller)).errorCode === undefined);
      store.addresses[1].move(two.url);
    },
  };

  test("no instance rejects requests after PostgreSQL's clock has been set back and Redis has lost its data", async () => {
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

  for (const count of [1, 2]) {
    test(`an instance with another Redis is the one that rejects requests, even after a time without readings from the others (${count})`, async () => {
      await using store = await opened();
      await using address = movableAddress(one.url);
      await using third = await store.bench.open(address.url);
      const beside = [store.first, store.other].slice(0, count);
      if (count === 1) await store.other[Symbol.asyncDispose]();
      address.move(two.url);
      await until(() => refusalOf(third) !== undefined);
      // Simulates that the others could not reach PostgreSQL for more than a minute.
      await until(async () => {
        await store.session`
          DELETE FROM redis_readings WHERE server <> (SELECT server FROM redis_readings WHERE NOT is_confirmed)`;
        return refusalOf(third) === undefined;
      });
      const seen = new Set<string | undefined>();
      await until(() => {
        for (const instance of beside) seen.add(refusalOf(instance));
        return refusalOf(third) !== undefined;
      });
      await store.readings(2, count + 1);
      for (const instance of beside) seen.add(refusalOf(instance));
      expect([...seen]).toEqual([undefined]);
    });
  }

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
