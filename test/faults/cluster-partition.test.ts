/**
 * One instance is cut off from Redis or PostgreSQL. Changes acknowledged by any instance must soon appear on all
 * instances.
 */

import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { openAdminServices } from '../../src/app/app.ts';
import { readConfig } from '../../src/config.ts';
import { maxStaleMs } from '../../src/domain/shared-versions.ts';
import { fatalTroubles, troubles } from '../../src/domain/troubles.ts';
import { liftBan } from '../../src/operations/admin/bans.ts';
import { clientOf } from '../support/client.ts';
import { startCluster } from '../support/cluster.ts';
import { readiness } from '../support/load.ts';
import { start } from '../support/process.ts';
import { tcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/wait.ts';

// Bans last longer than the tests. An unresponsive PostgreSQL is detected after the timeout.
const environment = { BAN_STRIKES: '3', BAN_FIRST_SECONDS: '86400', POSTGRES_TIMEOUT_MS: '5000' };
const cluster = await startCluster({ instances: 1, environment });
// Instances that have lost their servers try to reconnect.
afterEach(() => cluster?.endStarted());
afterAll(() => cluster?.[Symbol.asyncDispose]());

const list = '/pets?limit=100';

describe.skipIf(cluster === undefined)('an instance', () => {
  // These tests are skipped if no database servers are available.
  const { instances, operator, issueKey, postgres, redis, startInstance } =
    cluster ?? ({} as NonNullable<typeof cluster>);
  const near = instances?.[0];

  /** Starts an instance that reaches its servers through separate proxies. */
  async function distant(environment: Readonly<Record<string, string>> = {}) {
    await using made = new AsyncDisposableStack();
    const toRedis = made.use(await tcpProxy(redis.url));
    const toPostgres = made.use(await tcpProxy(postgres.url));
    const settings = { REDIS_URL: toRedis.url, DATABASE_URL: toPostgres.url, ...environment };
    const { url, stderr } = await startInstance(settings);
    const kept = made.move();
    const says = (...expected: string[]) =>
      until(async () => String((await readiness(url)).trouble ?? []) === String(expected));
    return { url, toRedis, toPostgres, says, log: stderr, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  }

  const nearTo = (key: string) => clientOf(near?.url ?? '', key);
  const shows = (client: ReturnType<typeof clientOf>, name: string) =>
    until(async () => (await client.get(list)).text.includes(`"${name}"`));
  /**
   * Resolves when a key is banned and PostgreSQL has stored the ban. Instances that cannot reach Redis read bans from
   * PostgreSQL.
   */
  const isBanned = async (client: ReturnType<typeof clientOf>, keyId: number) => {
    await until(async () => (await client.get(list)).text.includes('api_key_banned'));
    await using sql = new SQL(postgres.url, { max: 1 });
    await until(async () => (await sql`SELECT 1 FROM ban_snapshots WHERE key_id = ${keyId}`).length === 1);
  };
  /** A page is cached the second time it is requested. */
  const cachePage = async (client: ReturnType<typeof clientOf>) => {
    for (let request = 0; request < 2; request++) expect((await client.get(list)).status).toBe(200);
  };
  const answers = (client: ReturnType<typeof clientOf>, status: number) =>
    until(async () => (await client.get(list)).status === status);

  test('that is cut off from Redis still accepts changes, and other instances refresh their cached pages', async () => {
    await using far = await distant();
    const { key } = await issueKey();
    await cachePage(nearTo(key));
    await far.toRedis.cut();
    await far.says(troubles.redis);
    expect((await clientOf(far.url, key).add('from far')).status).toBe(201);
    await shows(nearTo(key), 'from far');
  });

  test.each(['writes', 'writes and reads'])(
    'that is cut off from Redis %s events, and every instance lists the changed animals',
    async (role) => {
      await using far = await distant();
      await using other = await distant();
      const { key, keyId } = await issueKey();
      await operator.keys.setScopes(keyId, ['pets:read', 'pets:create', 'events:read']);
      const clients = { far: clientOf(far.url, key), near: nearTo(key), other: clientOf(other.url, key) };
      const reader = role === 'writes' ? clients.near : clients.far;
      let next = (await reader.get('/events?order=desc&limit=1')).headers.get('link');
      await far.toRedis.cut();
      await far.says(troubles.redis);
      for (let round = 0; round < 8; round++) {
        const name = `${role} ${round}`;
        await clients.other.get(list);
        expect((await clients.far.add(name)).status).toBe(201);
        const events = await reader.get(`/events${/\/events([^>]*)/.exec(next ?? '')?.[1]}`);
        next = events.headers.get('link');
        expect(events.text).toContain(`"${name}"`);
        expect((await clients.other.get(list)).text).toContain(`"${name}"`);
      }
    },
  );

  test('that is cut off from Redis applies key revocations and ban removals, which stay in effect after it reconnects', async () => {
    await using far = await distant();
    const [revoked, banned] = [await issueKey(), await issueKey({ perMinute: 1, perDay: 1_000 })];
    const [revokedThere, bannedThere] = [clientOf(far.url, revoked.key), clientOf(far.url, banned.key)];
    expect((await revokedThere.get(list)).status).toBe(200);
    await isBanned(bannedThere, banned.keyId);
    await far.toRedis.cut();
    await far.says(troubles.redis);
    expect((await bannedThere.get(list)).text).toContain('api_key_banned');
    await operator.keys.revoke(revoked.keyId);
    await liftBan(operator, banned.keyId);
    await answers(revokedThere, 401);
    const isOver = async () => !(await bannedThere.get(list)).text.includes('api_key_banned');
    await until(isOver);
    await far.toRedis.heal();
    await far.says();
    expect(await isOver()).toBe(true);
    expect((await revokedThere.get(list)).status).toBe(401);
  });

  test('that is cut off from Redis keeps enforcing a ban after an operator revokes another key', async () => {
    await using far = await distant();
    const { key, keyId } = await issueKey({ perMinute: 1, perDay: 1_000 });
    const there = clientOf(far.url, key);
    await isBanned(there, keyId);
    await far.toRedis.cut();
    await far.says(troubles.redis);
    const other = await issueKey();
    await operator.keys.revoke(other.keyId);
    await answers(clientOf(far.url, other.key), 401);
    expect((await there.get(list)).text).toContain('api_key_banned');
  });

  test('that is cut off from PostgreSQL applies changes announced through Redis', async () => {
    await using far = await distant();
    const { key, keyId } = await issueKey();
    const there = clientOf(far.url, key);
    await cachePage(there);
    far.toPostgres.hold();
    await far.says(troubles.postgres);
    expect((await there.get(list)).status).toBe(200);
    await operator.keys.revoke(keyId);
    // The cached key is outdated, and PostgreSQL cannot be queried.
    await answers(there, 503);
    await far.toPostgres.heal();
    await answers(there, 401);
  });

  test('that is cut off from PostgreSQL learns, through a third instance, of changes made on an instance that is cut off from Redis', async () => {
    await using deaf = await distant();
    await using mute = await distant();
    const { key } = await issueKey();
    const there = clientOf(deaf.url, key);
    await cachePage(there);
    await deaf.toPostgres.cut();
    await mute.toRedis.cut();
    await deaf.says(troubles.postgres);
    await mute.says(troubles.redis);
    expect((await clientOf(mute.url, key).add('relayed')).status).toBe(201);
    await answers(there, 503);
    await deaf.toPostgres.heal();
    await shows(there, 'relayed');
  });

  test('shows an animal that was stored even though its create request got no response', async () => {
    await using far = await distant({ POSTGRES_POOL_SIZE: '1' });
    const { key } = await issueKey();
    const clients = [nearTo(key), clientOf(far.url, key)];
    // Prepares the statement, so that the next execution needs only one round trip.
    expect((await clientOf(far.url, key).add('the one before')).status).toBe(201);
    for (const client of clients) await client.get(list);
    far.toPostgres.holdAnswersTo('of unknown fate');
    const adding = clientOf(far.url, key).add('of unknown fate');
    await until(async () => (await operator.storage.pets.list(0n, 100)).some(isNamed));
    far.toPostgres.drop();
    await far.toPostgres.heal();
    const reply = await adding;
    expect(reply.status).toBe(503);
    expect(reply.text).toContain('It is unknown whether this request was applied');
    for (const client of clients) await shows(client, 'of unknown fate');

    function isNamed({ name }: { name: string }): boolean {
      return name === 'of unknown fate';
    }
  });

  test("applies an operator's change, even if the operator's settings point to another Redis", async () => {
    const settings = { PORT: '0', DATABASE_URL: postgres.url, REDIS_URL: 'redis://127.0.0.1:1' };
    const { key, keyId } = await issueKey();
    expect((await nearTo(key).get(list)).status).toBe(200);
    await using misled = await openAdminServices(readConfig(settings));
    await misled.keys.revoke(keyId);
    await answers(nearTo(key), 401);
  });

  test('stops enforcing a ban that was lifted by a command that cannot reach Redis', async () => {
    const { key, keyId } = await issueKey({ perMinute: 1, perDay: 1_000 });
    await isBanned(nearTo(key), keyId);
    await using command = start([process.execPath, 'src/main.ts', 'bans', 'lift', String(keyId)], {
      environment: { DATABASE_URL: postgres.url, REDIS_URL: 'redis://127.0.0.1:1' },
    });
    expect(await command.exited).toBe(0);
    expect((await nearTo(key).get(list)).text).not.toContain('api_key_banned');
  });

  test('applies a revocation within the 1 s that the command line reports', async () => {
    const { keyId } = await issueKey();
    await using command = start([process.execPath, 'src/main.ts', 'keys', 'revoke', String(keyId)], {
      environment: { DATABASE_URL: postgres.url, REDIS_URL: redis.url },
    });
    expect(await command.exited).toBe(0);
    expect(command.stdout()).toBe(
      `Revoked key ${keyId}. Requests that use it now get 401. All instances apply this within 1 s.\n`,
    );
  });

  test('without Redis is ready while PostgreSQL rejects only changes, because it serves reads', async () => {
    await using far = await distant();
    await using sql = new SQL(postgres.url, { max: 1 });
    const { key } = await issueKey();
    const client = clientOf(far.url, key);
    const [{ name }] = await sql`SELECT quote_ident(current_database()) AS name`;
    await sql.unsafe(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    await far.toPostgres.cut();
    await far.toPostgres.heal();
    await until(async () => (await client.get(list)).status === 200);
    await far.toRedis.cut();
    await until(async () => (await client.add('rejected')).status === 503);
    await far.says(troubles.postgres, troubles.redis);
    expect((await client.get(list)).status).toBe(200);
    expect((await fetch(`${far.url}/readyz`)).status).toBe(200);
    await sql.unsafe(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
    await far.toRedis.heal();
    await far.says();
  });

  test('starts and serves reads while PostgreSQL rejects changes, even if an event has no id yet', async () => {
    await using sql = new SQL(postgres.url, { max: 1 });
    const { key } = await issueKey();
    const [{ name }] = await sql`SELECT quote_ident(current_database()) AS name`;
    await sql.unsafe(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    await sql`INSERT INTO unnumbered_events (type, data, created_at) VALUES ('category.deleted', '{"id":1}', 0)`;
    await using far = await distant();
    expect((await clientOf(far.url, key).get(list)).status).toBe(200);
    await sql.unsafe(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
  });

  test('without Redis is ready while PostgreSQL is slow, because it serves reads', async () => {
    await using far = await distant();
    const { key } = await issueKey();
    const client = clientOf(far.url, key);
    expect((await client.get(list)).status).toBe(200);
    await far.toRedis.cut();
    await far.says(troubles.redis);
    // Two responses take longer than the time for which the versions that PostgreSQL reports stay valid.
    far.toPostgres.delay(maxStaleMs * 0.6);
    await far.says(troubles.postgres, troubles.redis);
    for (let request = 0; request < 4; request++) {
      // On a busy machine, single responses exceed the time-outs.
      await until(async () => (await client.get(list)).status === 200);
      expect((await fetch(`${far.url}/readyz`)).status).toBe(200);
    }
    far.toPostgres.delay(0);
    await far.toRedis.heal();
    await far.says();
  });

  test('without Redis is ready while another program locks a table that only its checks read, and logs the reason', async () => {
    await using far = await distant();
    await using sql = new SQL(postgres.url, { max: 1 });
    const { key } = await issueKey();
    const client = clientOf(far.url, key);
    await far.toRedis.cut();
    await far.says(troubles.redis);
    await sql.unsafe('BEGIN; LOCK TABLE instances IN ACCESS EXCLUSIVE MODE');
    const isReady = async () => {
      expect((await client.get(list)).status).toBe(200);
      expect((await fetch(`${far.url}/readyz`)).status).toBe(200);
    };
    // The check times out after the same time as it takes for an unresponsive server to count as lost.
    await until(async () => {
      await isReady();
      return /degraded: versions of cached data unavailable: .*statement/.test(far.log());
    });
    await isReady();
    await sql.unsafe('COMMIT');
    await until(() => /versions of cached data available again/.test(far.log()));
    await far.toRedis.heal();
    await far.says();
  });

  test('without PostgreSQL and Redis is not ready, which /readyz finds without querying them', async () => {
    // Long enough that no query times out during this test.
    await using far = await distant({ POSTGRES_TIMEOUT_MS: '60000' });
    far.toPostgres.hold();
    far.toRedis.hold();
    await far.says(fatalTroubles.serversLost);
    expect((await fetch(`${far.url}/readyz`)).status).toBe(503);
    await far.toPostgres.heal();
    await far.toRedis.heal();
    await far.says();
  });
});
