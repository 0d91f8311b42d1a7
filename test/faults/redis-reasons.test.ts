/** Notices explain to operators why Redis does not work and what to do. */

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

describe.skipIf(redis === undefined)('a notice says why Redis does not work:', () => {
  // Without servers, these tests are skipped.
  const there = servers ?? ({} as NonNullable<typeof servers>);
  const own = redis ?? ({} as OwnServer);

  async function command(...words: [string, ...string[]]): Promise<void> {
    const client = new RedisClient(own.url);
    const [name, ...args] = words;
    await client.send(name, args);
    client.close();
  }

  /** The first notice of a store on this Redis, after `begin` if there is one and then requests that are counted. */
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
      serving: true,
      cluster: { ...patient, redisUrl: url, redisPrefix: there.makePrefix(), redisTimeoutMs },
      notice: noticed.resolve,
    });
    const { callers } = await store.limits.versions();
    await begin?.();
    if (begin !== undefined) await store.limits.take(caller, callers);
    return await noticed.promise;
  }

  test('its memory is full', async () => {
    const fill = () => command('CONFIG', 'SET', 'maxmemory', '1');
    expect(await notice(own.url, fill)).toContain('OOM command not allowed');
    await command('CONFIG', 'SET', 'maxmemory', '0');
  });

  test('it became a replica', async () => {
    expect(await notice(own.url, () => command('REPLICAOF', '127.0.0.1', '1'))).toContain('READONLY');
    // At the start, a replica is not accepted as a working Redis either.
    expect(await notice(own.url)).toContain('READONLY');
    await command('REPLICAOF', 'NO', 'ONE');
  });

  test('it is frozen', async () => {
    expect(await notice(own.url, () => own.freeze(), 500)).toContain('no response within 500 ms');
    await own.thaw();
  });

  test('the password is wrong, or missing', async () => {
    const admin = new RedisClient(own.url);
    await admin.connect();
    await admin.send('CONFIG', ['SET', 'requirepass', 'right']);
    expect(await notice(own.url)).toContain('NOAUTH');
    expect(await notice(own.url.replace('redis://', 'redis://:wrong@'))).toContain('WRONGPASS');
    await admin.send('CONFIG', ['SET', 'requirepass', '']);
    admin.close();
  });

  test('nothing listens there', async () => {
    expect(await notice('redis://127.0.0.1:1')).toContain('ECONNREFUSED');
  });

  testWith(...openssl)(
    'its certificate is signed by an authority that this machine does not trust',
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
