/** Notices explain to operators why Redis is not working. */

import { afterAll, describe, expect, test } from 'bun:test';
import { createServer } from 'node:tls';
import { RedisClient } from 'bun';
import { openStore } from '../../src/app/store.ts';
import { patient } from '../storage/cluster-place.ts';
import { strictRules } from '../storage/place.ts';
import { callerWith } from '../storage/samples.ts';
import { makeCertificate, openssl } from '../support/certificates.ts';
import { FakeClock } from '../support/clock.ts';
import { temporaryFolder } from '../support/folder.ts';
import { testWith } from '../support/requirements.ts';
import { type OwnServer, ownRedis, testServers } from '../support/servers.ts';

const servers = await testServers();
const redis = servers && (await ownRedis());
afterAll(async () => {
  await servers?.[Symbol.asyncDispose]();
  await redis?.[Symbol.asyncDispose]();
});

const caller = callerWith();

describe.skipIf(redis === undefined)('an operator is notified', () => {
  // These tests are skipped if no database servers are available.
  const there = servers ?? ({} as NonNullable<typeof servers>);
  const own = redis ?? ({} as OwnServer);

  async function command(...words: [string, ...string[]]): Promise<void> {
    const client = new RedisClient(own.url);
    const [name, ...args] = words;
    await client.send(name, args);
    client.close();
  }

  /**
   * Opens a store on this Redis server, runs `begin` if given, and counts requests until the store logs a notice.
   * Returns the first notice.
   */
  async function notice(
    url: string,
    begin?: () => Promise<unknown>,
    redisTimeoutMs = patient.redisTimeoutMs,
  ) {
    await using schema = await there.makeSchema();
    const noticed = Promise.withResolvers<string>();
    await using store = await openStore({
      url: schema.url,
      clock: new FakeClock(),
      rules: strictRules,
      isServing: true,
      cluster: { ...patient, redisUrl: url, redisPrefix: there.makePrefix(), redisTimeoutMs },
      notice: noticed.resolve,
    });
    const { callers } = await store.limits.versions();
    await begin?.();
    if (begin !== undefined) await store.limits.take(caller, callers);
    return await noticed.promise;
  }

  test('if Redis is out of memory, with the remedy', async () => {
    const fill = () => command('CONFIG', 'SET', 'maxmemory', '1');
    const reasons = [await notice(own.url, fill), await notice(own.url)];
    await command('CONFIG', 'SET', 'maxmemory', '0');
    for (const reason of reasons)
      expect(reason).toMatch(/maxmemory is reached.* Raise maxmemory, or remove other data/);
  });

  test('if Redis has become a replica', async () => {
    const reason = await notice(own.url, () => command('REPLICAOF', '127.0.0.1', '1'));
    expect(reason).toContain('READONLY');
    expect(reason).not.toContain('script');
    // A replica is also reported when the store is opened.
    expect(await notice(own.url)).toContain('READONLY');
    await command('REPLICAOF', 'NO', 'ONE');
  });

  test('if Redis does not respond', async () => {
    expect(await notice(own.url, () => own.freeze(), 500)).toContain('no response within 500 ms');
    await own.thaw();
  });

  test('if the Redis password is wrong or missing', async () => {
    const admin = new RedisClient(own.url);
    await admin.connect();
    await admin.send('CONFIG', ['SET', 'requirepass', 'right']);
    expect(await notice(own.url)).toContain('NOAUTH');
    expect(await notice(own.url.replace('redis://', 'redis://:wrong@'))).toContain('WRONGPASS');
    await admin.send('CONFIG', ['SET', 'requirepass', '']);
    admin.close();
  });

  test('if nothing listens at the Redis address', async () => {
    expect(await notice('redis://127.0.0.1:1')).toContain('ECONNREFUSED');
  });

  testWith(...openssl)(
    'if the Redis certificate is signed by an authority that this machine does not trust',
    async () => {
      await using folder = await temporaryFolder();
      const { certificate: cert, key } = await makeCertificate(folder.path, 'localhost');
      const pem = { cert, key };
      const server = createServer(pem, (socket) => socket.on('error', () => {}));
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as { port: number };
      expect(await notice(`rediss://localhost:${port}`)).toMatch(/certificate/);
      server.close();
    },
  );
});
