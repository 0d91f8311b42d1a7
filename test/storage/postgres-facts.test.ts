/** What a store on PostgreSQL and Redis tells of itself. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { quotaOf } from '../../src/domain/plan.ts';
import { openStore } from '../../src/store.ts';
import { FakeClock } from '../support/clock.ts';
import { testServers } from '../support/servers.ts';
import { tcpProxy } from '../support/tcp-proxy.ts';
import { testTimeoutMs, until } from '../support/wait.ts';
import { patient } from './cluster-place.ts';
import { strictRules } from './place.ts';

setDefaultTimeout(testTimeoutMs);

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

describe.skipIf(servers === undefined)('facts of a store on PostgreSQL and Redis', () => {
  // Skipped without them.
  const { makeSchema, makePrefix, redisUrl } = servers ?? ({} as NonNullable<typeof servers>);

  test('name the servers, what this process wrote, and what does not work', async () => {
    await using schema = await makeSchema();
    await using redis = await tcpProxy(redisUrl);
    await using postgres = await tcpProxy(schema.url);
    await using store = await openStore({
      url: postgres.url,
      clock: new FakeClock(),
      rules: strictRules,
      serving: true,
      cluster: { ...patient, redisUrl: redis.url, redisPrefix: makePrefix() },
    });
    const account = { name: 'a', ...quotaOf('free'), createdAt: 0 };
    await Promise.all([store.write('createAccount', account), store.write('createAccount', account)]);

    await store.limits.versions();

    const facts = await store.facts();
    expect(facts).toMatchObject({
      engine: 'PostgreSQL and Redis',
      encryption: 'none',
      postgresVersion: expect.stringMatching(/^\d+\.\d+/),
      postgresTrouble: null,
      poolWaiting: 0,
      redisVersion: expect.stringMatching(/^\d+\.\d+/),
      redisTrouble: null,
      groups: 1,
      units: 2,
      waiting: 0,
    });
    for (const name of [
      'dataBytes',
      'postgresStatements',
      'postgresSeconds',
      'redisRequests',
      'redisSeconds',
      'seconds',
    ]) {
      expect(facts[name]).toBeGreaterThan(0);
    }

    await Promise.all([redis.cut(), postgres.cut()]);
    await until(async () => {
      await Promise.allSettled([store.limits.versions(), store.accounts.find(1)]);
      const { redisTrouble, postgresTrouble } = await store.facts();
      return redisTrouble !== null && postgresTrouble !== null;
    });
    // What is away is not waited for: by now it is known.
    expect(await store.facts()).toMatchObject({
      postgresVersion: null,
      postgresTrouble: expect.stringContaining('PostgreSQL'),
      dataBytes: null,
      redisVersion: null,
      redisTrouble: expect.stringContaining('Redis'),
      groups: 1,
    });
  });
});
