/** Failovers to a replica that lacked the last changes. Their ids must never be assigned again. */
import { afterAll, describe, expect, test } from 'bun:test';
import { scopes } from '../../src/domain/scope.ts';
import { skippedIdsPerRestore, skippedIdsSpread } from '../../src/tables/events.ts';
import { clientOf, type Reply } from '../support/client.ts';
import { type Cluster, startCluster } from '../support/cluster.ts';
import { EventSource } from '../support/event-source.ts';
import { movableAddress } from '../support/movable-address.ts';
import { ample, type Service } from '../support/process.ts';
import { idOf, runOn, uncached } from '../support/replicas.ts';
import { missing } from '../support/requirements.ts';
import { findProgram } from '../support/server-process.ts';
import { type OwnServer, ownReplica } from '../support/servers.ts';
import { until } from '../support/wait.ts';
import { response, startReceiver } from '../webhooks/receiver.ts';

const hasServers = findProgram('pg_basebackup') ?? missing({ name: 'PostgreSQL', package: 'postgresql' });
const cleanup = new AsyncDisposableStack();
afterAll(() => cleanup.disposeAsync());

interface FailoverPlace {
  readonly cluster: Cluster;
  readonly key: string;
  /** Starts an instance that uses the address. */
  startInstance(): Promise<Service>;
  /** Stops the replica, so that later changes will be lost. */
  stopReplicating(lastEvent: number): Promise<void>;
  /** Kills the primary, promotes the replica and moves the address to it. */
  failOver(): Promise<void>;
}

async function makePlace(): Promise<FailoverPlace> {
  const cluster = cleanup.use((await startCluster({ instances: 0 })) ?? null);
  const standby = cleanup.use((cluster && (await ownReplica(cluster.postgres))) ?? null);
  if (cluster === null || standby === null) throw new Error('PostgreSQL is missing.');
  const address = cleanup.use(movableAddress(cluster.postgres.url));
  const { id } = await cluster.operator.accounts.create('shop', 'enterprise', ample);
  const { key } = await cluster.operator.keys.create(id, 'till', undefined, scopes);
  return {
    cluster,
    key,
    startInstance: () =>
      cluster.startInstance({ DATABASE_URL: address.url, WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' }),
    async stopReplicating(lastEvent) {
      await until(
        async () => (await runOn(standby, `SELECT FROM events WHERE id = ${lastEvent}`)).length === 1,
      );
      await standby.stop('SIGTERM');
    },
    async failOver() {
      await cluster.postgres.stop('SIGKILL');
      await standby.start();
      await runOn(standby, 'SELECT pg_promote()');
      promoted = standby;
      address.move(standby.url);
    },
  };
}

let promoted: OwnServer | undefined;

/** Adds an animal as soon as the instance can write, and returns its id. */
async function firstAdded({ url }: Service, key: string): Promise<number> {
  let reply: Reply | undefined;
  await until(async () => {
    reply = await clientOf(url, key).add('after the failover');
    return reply.status === 201;
  });
  return idOf(reply as Reply);
}

const eventIds = ({ text }: Reply) => (JSON.parse(text) as { id: number }[]).map(({ id }) => id);

async function createWebhook(instance: Service | undefined, key: string, port: number): Promise<void> {
  const created = await fetch(`${instance?.url}/v1/webhooks`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ url: `http://127.0.0.1:${port}/`, types: ['pet.created'] }),
  });
  expect(created.status).toBe(201);
}

/** Expects that the feed and the stream refuse to continue after an event. */
async function expectGone({ url }: Service, key: string, after: number): Promise<void> {
  const headers = { Authorization: `Bearer ${key}` };
  for (const answer of [
    await fetch(`${url}/v1/events?after=${after}`, { headers }),
    await fetch(`${url}/v1/events/stream`, { headers: { ...headers, 'Last-Event-ID': `${after}` } }),
  ]) {
    expect([after, answer.status, await answer.text()]).toEqual([
      after,
      410,
      expect.stringContaining('events_expired'),
    ]);
  }
}

/** The highest id that the counter of a table has assigned. */
async function lastOf(table: string): Promise<number> {
  const [row] = await runOn(promoted as OwnServer, `SELECT last::text FROM counters WHERE name = '${table}'`);
  return Number(row?.last);
}

describe.skipIf(!hasServers)('after a failover that lost transactions', () => {
  for (const restarts of [false, true]) {
    test(`ids are not assigned again, and readers of lost events get 410, if the instances ${restarts ? 'are restarted' : 'keep running'}`, async () => {
      const { cluster, key, startInstance, stopReplicating, failOver } = await makePlace();
      let instances = await Promise.all([startInstance(), startInstance(), startInstance()]);
      const clients = () => instances.map(({ url }) => clientOf(url, key));
      const [writer] = clients();
      if (writer === undefined) return;
      await using receiver = await startReceiver((socket) => void socket.write(response('204 No Content')));
      await createWebhook(instances[0], key, receiver.port);
      const sent = () => receiver.requests.map((text) => Number(/webhook-id: evt_(\d+)/i.exec(text)?.[1]));

      const kept = idOf(await writer.add('kept'));
      const keptEvent = eventIds(await writer.get('/events')).at(-1) as number;
      await stopReplicating(keptEvent);
      const lost = [];
      for (let count = 0; count < 5; count++) lost.push(idOf(await writer.add(`lost ${count}`)));
      const lostKey = await cluster.operator.keys.create(1, 'lost');
      const lostEvent = eventIds(await writer.get('/events')).at(-1) as number;
      await until(() => sent().includes(lostEvent));
      const stream = restarts
        ? undefined
        : await EventSource.open(`${instances[1]?.url}`, { key, lastEventId: String(lostEvent) });

      if (restarts) for (const instance of instances) await instance[Symbol.asyncDispose]();
      const failedOverAt = Date.now() * 1_000;
      await failOver();
      if (restarts) instances = await Promise.all([startInstance(), startInstance(), startInstance()]);
      const added = await Promise.all(instances.map((instance) => firstAdded(instance, key)));
      expect(Math.min(...added)).toBeGreaterThan(Math.max(...lost));
      expect(new Set(added).size).toBe(added.length);
      await until(async () => (await lastOf('keys')) > lostKey.id);

      await until(() => stream === undefined || stream.hasEnded);
      expect(stream?.events ?? []).toEqual([]);
      for (const instance of instances) {
        for (const after of [keptEvent, lostEvent - 1, lostEvent]) await expectGone(instance, key, after);
      }

      const newest = eventIds(await (clients()[0] as typeof writer).get('/events?order=desc&limit=100'));
      const later = newest.filter((id) => id > keptEvent);
      // An instance may have stored an animal and responded that the outcome is unknown.
      const { text } = await (clients()[0] as typeof writer).get(uncached(BigInt(Math.max(...lost)) + 1n));
      expect(later).toHaveLength(JSON.parse(text).length);
      expect(Math.min(...later)).toBeGreaterThan(lostEvent);
      await until(() => later.every((id) => sent().includes(id)));
      // A delivery whose outcome was lost is repeated with the same body.
      const bodies = receiver.requests.map((text) => text.slice(text.indexOf('\r\n\r\n')));
      expect(new Set(bodies).size).toBe(new Set(sent()).size);

      // Every counter was raised once, even though three instances detected the failover.
      for (const table of ['pets', 'events', 'keys', 'accounts', 'orders', 'deliveries', 'webhooks']) {
        const last = await lastOf(table);
        const most = Date.now() * 1_000 + skippedIdsPerRestore + skippedIdsSpread + 1_000;
        expect([table, last > failedOverAt + skippedIdsPerRestore && last < most]).toEqual([table, true]);
      }
      expect((await (clients()[0] as typeof writer).get(uncached(BigInt(kept)))).text).toContain('"kept"');
    });
  }
});
