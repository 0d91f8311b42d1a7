/**
 * Replicas that lag, are killed, freeze, are promoted or follow a former primary. Every page must include all
 * acknowledged changes.
 */

import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { createOperator, revokeOperator } from '../../src/operations/admin/operators.ts';
import { PostgresDatabase } from '../../src/storage/postgres/database.ts';
import { isCurrent, whetherCurrent } from '../../src/storage/postgres/replicas/replica.ts';
import { clientOf, type Reply } from '../support/client.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { load, readiness } from '../support/load.ts';
import { movableAddress } from '../support/movable-address.ts';
import { ownPgBouncer, pgBouncerProgram, throughPgBouncer } from '../support/pgbouncer.ts';
import { consoleOf } from '../support/process.ts';
import { idOf, instanceOf, nameOf, runOn, uncached, untilUsed } from '../support/replicas.ts';
import { missing } from '../support/requirements.ts';
import { findProgram } from '../support/server-process.ts';
import { type OwnServer, ownCopy, ownReplica } from '../support/servers.ts';
import { until } from '../support/wait.ts';

const hasServers = findProgram('pg_basebackup') ?? missing({ name: 'PostgreSQL', package: 'postgresql' });

const cluster = hasServers ? await startCluster({ instances: 0 }) : undefined;
// Instances that have lost their servers try to reconnect.
afterEach(() => cluster?.endStarted());
afterAll(() => cluster?.[Symbol.asyncDispose]());

describe.skipIf(cluster === undefined)('read replicas', () => {
  // These tests are skipped if no database servers are available.
  const shop = cluster ?? ({} as Cluster);

  async function replica(primary = shop.postgres): Promise<OwnServer> {
    const made = await ownReplica(primary);
    if (made === undefined) throw new Error('PostgreSQL is missing.');
    return made;
  }

  test('return every change that any instance has acknowledged', async () => {
    await using standby = await replica();
    const name = nameOf(standby);
    const instances = [await instanceOf(shop, [standby.url]), await instanceOf(shop, [standby.url])] as const;
    for (const instance of instances) await untilUsed(instance, name);
    const before = await Promise.all(instances.map(({ reads }) => reads(name)));
    for (let round = 0; round < 100; round++) {
      const [writer, reader] = round % 2 === 0 ? instances : [instances[1], instances[0]];
      const added = await writer.client.add(`round ${round}`);
      expect((await reader.client.get(uncached(BigInt(idOf(added))))).text).toContain(added.text);
      expect((await reader.client.get(`/pets/${idOf(added)}`)).text).toBe(added.text);
    }
    const after = await Promise.all(instances.map(({ reads }) => reads(name)));
    expect(after.every((reads, index) => reads >= (before[index] ?? 0))).toBe(true);
    for (const instance of instances) await untilUsed(instance, name);
  });

  test('are current only if they have the required version and follow the primary', async () => {
    await using standby = await replica();
    const added = await (await instanceOf(shop, [standby.url])).client.add('seen');
    const [state] = await runOn(
      shop.postgres,
      "SELECT version, lineage FROM counters, store WHERE name = 'pets'",
    );
    const { version, lineage } = state as { version: bigint; lineage: string };
    await until(
      async () => (await runOn(standby, `SELECT FROM pets WHERE id = ${idOf(added)}`)).length === 1,
    );
    const answerOf = async (server: OwnServer, least: number, mark: string) => {
      await using sql = new SQL(server.url, { max: 1, bigint: true });
      return isCurrent(await whetherCurrent('pets', least, mark)(sql));
    };
    const least = Number(version);
    expect(await answerOf(standby, least, lineage)).toBe(true);
    expect(await answerOf(standby, least + 1, lineage)).toBe(false);
    expect(await answerOf(standby, least, `${lineage}1`)).toBe(false);
    expect(await answerOf(shop.postgres, least, lineage)).toBe(false);
  });

  test('show every acknowledged change immediately, even in cached pages, while instances write concurrently', async () => {
    await using standby = await replica();
    const name = nameOf(standby);
    const instances = [await instanceOf(shop, [standby.url]), await instanceOf(shop, [standby.url])] as const;
    for (const instance of instances) await untilUsed(instance, name);
    const one = async (number: number) => {
      for (let round = 0; round < 40; round++) {
        const [writer, reader] = (number + round) % 2 === 0 ? instances : [instances[1], instances[0]];
        const added = await writer.client.add(`${number} ${round}`);
        const id = idOf(added);
        // This page also contains animals that other clients are adding concurrently.
        const shared = `/pets?minId=${id - (id % 16)}&limit=50`;
        for (const target of [shared, uncached(BigInt(id)), shared]) {
          expect((await reader.client.get(target)).text).toContain(added.text);
        }
        await writer.client.get(shared);
      }
    };
    await Promise.all(Array.from({ length: 8 }, (_, number) => one(number)));
    for (const instance of instances) await untilUsed(instance, name);
  });

  test('are not used for a resource until they have caught up with its latest change', async () => {
    await using standby = await replica();
    const name = nameOf(standby);
    const writer = await instanceOf(shop, [standby.url]);
    const reader = await instanceOf(shop, [standby.url]);
    await untilUsed(reader, name);
    await runOn(standby, 'SELECT pg_wal_replay_pause()');
    await until(async () => {
      const [row] = await runOn(standby, 'SELECT pg_get_wal_replay_pause_state() AS state');
      return row?.state === 'paused';
    });
    const inventory = await reader.client.get('/inventory');
    const first = await writer.client.add('while paused');
    const [reads, primaryReads] = [await reader.reads(name), await reader.reads('primary')];
    for (let round = 0; round < 20; round++) {
      const added = await writer.client.add(`paused ${round}`);
      const page = await reader.client.get(uncached(BigInt(idOf(first))));
      expect(page.text).toContain(first.text);
      expect(page.text).toContain(added.text);
      expect((await reader.client.get(`/pets/${idOf(added)}`)).text).toBe(added.text);
    }
    expect((await reader.client.get('/inventory')).text).not.toBe(inventory.text);
    expect(await reader.reads(name)).toBe(reads);
    expect(await reader.reads('primary')).toBeGreaterThanOrEqual(primaryReads + 41);
    // Reads of categories may use the replica, because no category has changed.
    await until(async () => {
      await reader.client.get('/categories/1');
      return (await reader.reads(name)) > reads;
    });
    await until(async () => !(await reader.isUsed(name)));
    expect((await readiness(reader.url)).status).toBe('ready');

    await runOn(standby, 'SELECT pg_wal_replay_resume()');
    await untilUsed(reader, name);
    await until(() => reader.isUsed(name));
  });

  for (const [event, begin, end] of [
    ['killed (-9)', (one: OwnServer) => one.stop('SIGKILL'), (one: OwnServer) => one.start()],
    ['frozen', (one: OwnServer) => one.freeze(), (one: OwnServer) => one.thaw()],
  ] as const) {
    test(`that are ${event} under load cause no failed requests`, async () => {
      await using standby = await replica();
      const name = nameOf(standby);
      const reader = await instanceOf(shop, [standby.url]);
      await untilUsed(reader, name);
      const reading = load(6, () => reader.client.get(uncached()), 5);
      const adding = load(1, (number) => reader.client.add(`${event} ${number}`), 20);
      await reading.more(100);
      await begin(standby);
      await reader.logged(`PostgreSQL replica ${name} unavailable`);
      await reading.more(100);
      expect(await reader.isUsed(name)).toBe(false);
      expect((await readiness(reader.url)).status).toBe('ready');
      await end(standby);
      await reader.logged(`PostgreSQL replica ${name} available again`);
      await untilUsed(reader, name);
      const statuses = (replies: readonly Reply[]) => new Set(replies.map(({ status }) => status));
      expect(statuses(await reading.stop())).toEqual(new Set([200]));
      expect(statuses(await adding.stop())).toEqual(new Set([201]));
    });
  }

  test('serve nothing while the primary is down, because changes by other instances are unknown', async () => {
    await using standby = await replica();
    const name = nameOf(standby);
    const reader = await instanceOf(shop, [standby.url]);
    const cached = '/pets?limit=3';
    await untilUsed(reader, name);
    for (let count = 0; count < 3; count++) await reader.client.get(cached);
    await shop.postgres.freeze();
    await until(async () => (await reader.client.get(uncached())).status === 503);
    const reads = await reader.reads(name);
    const down = [await reader.client.get(uncached()), await reader.client.get(cached)];
    const readsWhileDown = (await reader.reads(name)) - reads;
    await shop.postgres.thaw();
    expect([...down.map(({ status }) => status), readsWhileDown]).toEqual([503, 200, 0]);
    await untilUsed(reader, name);
  });

  test("that were promoted are not used, because their data may differ from the primary's", async () => {
    await using standby = await replica();
    const name = nameOf(standby);
    const reader = await instanceOf(shop, [standby.url]);
    await untilUsed(reader, name);
    const added = await reader.client.add('before');
    await runOn(standby, 'SELECT pg_promote()');
    await runOn(standby, `UPDATE pets SET name = 'split' WHERE id = ${idOf(added)}`);
    for (let round = 0; round < 20; round++) {
      expect((await reader.client.get(uncached(BigInt(idOf(added))))).text).toContain(added.text);
    }
    await reader.logged(/it is a primary, not a replica: remove it/);
    expect(await reader.isUsed(name)).toBe(false);
  });

  test('are reported in the log, with a remedy, if they are actually the primary, contain another store, or contain no store', async () => {
    await using other = await startCluster({ instances: 1 });
    if (other === undefined) return;
    await using standby = await replica(other.postgres);
    await runOn(shop.postgres, 'CREATE DATABASE empty');
    const empty = new URL(shop.postgres.url);
    empty.pathname = '/empty';
    const primary = new URL(shop.postgres.url);
    primary.searchParams.set('application_name', 'reads');
    const instance = await instanceOf(shop, [primary.href, standby.url, empty.href]);
    await instance.logged(/it is a primary, not a replica: remove it from DATABASE_REPLICA_URLS/);
    await instance.logged(
      /it has another store: give the address of a replica of the server in DATABASE_URL/,
    );
    await instance.logged(
      /it has no store in this database and schema: use the database and schema of DATABASE_URL/,
    );
    const added = await instance.client.add('from the primary');
    expect((await instance.client.get(uncached(BigInt(idOf(added))))).text).toContain(added.text);
    expect(await instance.reads(nameOf(standby))).toBe(0);
  });

  test.skipIf(pgBouncerProgram() === undefined)('serve reads through PgBouncer', async () => {
    await using standby = await replica();
    await using bouncer = await ownPgBouncer(standby.url);
    if (bouncer === undefined) return;
    const url = throughPgBouncer(bouncer, standby.url);
    const reader = await instanceOf(shop, [url]);
    await untilUsed(reader, new URL(url).host + new URL(url).pathname);
    const added = await reader.client.add('through PgBouncer');
    expect((await reader.client.get(uncached(BigInt(idOf(added))))).text).toContain(added.text);
  });

  test('of a former primary are not used, even if they contain changes that the new primary lost', async () => {
    await using failing = await startCluster({ instances: 0 });
    if (failing === undefined) return;
    await using next = await replica(failing.postgres);
    await using former = await replica(failing.postgres);
    await using address = movableAddress(failing.postgres.url);
    const reader = await instanceOf(failing, [former.url], { DATABASE_URL: address.url });
    await untilUsed(reader, nameOf(former));
    const kept = await reader.client.add('kept');
    await until(async () => (await runOn(next, `SELECT FROM pets WHERE id = ${idOf(kept)}`)).length === 1);
    await next.stop('SIGTERM');
    const lost = await reader.client.add('lost');
    await until(async () => (await runOn(former, `SELECT FROM pets WHERE id = ${idOf(lost)}`)).length === 1);

    await failing.postgres.stop('SIGKILL');
    await next.start();
    await runOn(next, 'SELECT pg_promote()');
    address.move(next.url);
    await until(async () => (await reader.client.get(uncached())).status === 200);
    await until(async () => !(await reader.isUsed(nameOf(former))));
    const reads = await reader.reads(nameOf(former));
    const page = await reader.client.get(uncached());
    expect(page.text).toContain(kept.text);
    expect(page.text).not.toContain('"lost"');
    const added = await reader.client.add('after');
    expect((await reader.client.get(uncached())).text).toContain(added.text);
    expect(await reader.reads(nameOf(former))).toBe(reads);
  });

  test("an instance returns 503 while a standby answers at the primary's address, and rejects keys revoked during that time once the primary is back", async () => {
    await using standby = await replica();
    await using address = movableAddress(shop.postgres.url);
    const instance = await instanceOf(shop, [], { DATABASE_URL: address.url });
    const { key, keyId } = await shop.issueKey();
    const revoked = clientOf(instance.url, key);
    expect((await revoked.get(uncached())).status).toBe(200);
    await runOn(standby, 'SELECT pg_wal_replay_pause()');
    address.move(standby.url);
    await shop.operator.keys.revoke(keyId);
    await until(async () => (await instance.client.get(uncached())).status === 503);
    await instance.logged('the server is a standby');
    expect((await revoked.get(uncached())).status).toBe(503);
    expect((await instance.client.add('refused')).status).toBe(503);
    await runOn(standby, 'SELECT pg_wal_replay_resume()');
    address.redirect(shop.postgres.url);
    await until(async () => (await instance.client.get(uncached())).status === 200);
    expect((await revoked.get(uncached())).status).toBe(401);
    expect((await instance.client.add('accepted')).status).toBe(201);
  });

  test('a revoked operator stays locked out, by the worker supervisor as well, while the database address points to a standby', async () => {
    await using standby = await replica();
    await using address = movableAddress(shop.postgres.url);
    const settings = { DATABASE_URL: address.url, WORKERS: '2', ADMIN_PORT: '0' };
    const console = await consoleOf(await shop.startInstance(settings));
    const { token, operator } = await createOperator(shop.operator, 'former', 'admin');
    const headers = { Authorization: `Bearer ${token}` };
    const statusOf = async () => (await fetch(`${console}/admin/v1/accounts`, { headers })).status;
    expect(await statusOf()).toBe(200);
    await runOn(standby, 'SELECT pg_wal_replay_pause()');
    await revokeOperator(shop.operator, operator.id);
    await until(async () => (await statusOf()) === 401);
    address.move(standby.url);
    const isBlocked = async () => {
      const status = await statusOf();
      expect([401, 503]).toContain(status);
      return status === 503;
    };
    await until(isBlocked);
    await runOn(standby, 'SELECT pg_wal_replay_resume()');
    address.redirect(shop.postgres.url);
    await until(async () => (await statusOf()) === 401);
  });

  test('connections that lead to a standby are not used, even if others lead to the primary', async () => {
    await using standby = await replica();
    await using address = movableAddress(shop.postgres.url);
    const connection = { url: address.url, statementTimeoutMs: 60_000, refusesStandby: true };
    const notices: string[] = [];
    const notice = (text: string) => void notices.push(text);
    await using database = new PostgresDatabase({ ...connection, poolSize: 8, notice });
    await database.migrate();
    address.redirect(standby.url);
    const reads = Array.from({ length: 100 }, () =>
      database.read((sql) => sql`SELECT pg_is_in_recovery() AS "isStandby", pg_sleep(0.01)::text`),
    );
    const rows = (await Promise.all(reads)).flatMap((row) => [...(row as { isStandby: boolean }[])]);
    expect(rows.filter(({ isStandby }) => isStandby)).toEqual([]);
    await until(() => notices.some((text) => text.includes('the server is a standby')));
  });

  for (const [kind, makeCopy] of [
    [
      'was promoted',
      async () => {
        const copy = await replica();
        await runOn(copy, 'SELECT pg_promote()');
        return copy;
      },
    ],
    ['has the same timeline', async () => (await ownCopy(shop.postgres)) as OwnServer],
  ] as const) {
    test(`of a copy that ${kind} are not used, even if the copy has newer changes`, async () => {
      await using original = await replica();
      const first = await instanceOf(shop, [original.url]);
      await untilUsed(first, nameOf(original));
      const added = await first.client.add('original');
      await using copy = await makeCopy();
      await using standby = await replica(copy);
      const name = nameOf(standby);
      const id = idOf(added);
      await runOn(
        copy,
        `UPDATE pets SET name = 'of the copy' WHERE id = ${id}; UPDATE counters SET version = version + 1000000000000`,
      );
      await until(async () => {
        const [row] = await runOn(standby, `SELECT name FROM pets WHERE id = ${id}`);
        return row?.name === 'of the copy';
      });
      const instance = await instanceOf(shop, [standby.url]);
      // A replica that is used has no lag.
      await until(async () => (await instance.isUsed(name)) || (await instance.lagSeconds(name)) > 0);
      for (let round = 0; round < 20; round++) {
        expect((await instance.client.get(uncached(BigInt(id)))).text).toContain(added.text);
      }
      expect([await instance.reads(name), await instance.isUsed(name)]).toEqual([0, false]);
    });
  }
});
