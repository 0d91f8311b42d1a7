/**
 * PostgreSQL is running but rejects connections or queries. Requests get 503, no acknowledged change is lost, and the
 * service recovers.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import { openSession } from '../storage/postgres-kit.ts';
import { type Client, clientOf, type Reply } from '../support/client.ts';
import { startCluster } from '../support/cluster.ts';
import { allNames, load, untilAll } from '../support/load.ts';
import { until } from '../support/wait.ts';
import { type Refusal, ShopDatabase } from './refusals.ts';

let database: ShopDatabase | undefined;
const cluster = await startCluster({
  instances: 2,
  // Long timeouts, so that a slow machine does not make the servers look unavailable.
  environment: { POSTGRES_TIMEOUT_MS: '10000', REDIS_TIMEOUT_MS: '5000' },
  makeDatabase: async (postgres) => {
    database = await ShopDatabase.make(postgres);
    return database.url;
  },
});
afterAll(() => cluster?.[Symbol.asyncDispose]());
// Issued before the first refusal, because the test's own operator has sessions that are refused as well.
const key = (await cluster?.issueKey())?.key ?? '';

describe.skipIf(cluster === undefined)('while PostgreSQL rejects connections or queries', () => {
  // These tests are skipped if no database servers are available.
  const { instances } = cluster ?? ({} as NonNullable<typeof cluster>);
  const becomes = (status: string) =>
    untilAll(
      instances.map(({ url }) => url),
      status,
    );
  const logged = () => instances.map(({ stderr }) => stderr());

  const refusals = database?.refusals() ?? {};
  for (const [name, { begin, end, reason }] of Object.entries(refusals)) {
    test(`because ${name}, requests get 503, the log and the health check report the reason, and the service recovers afterwards`, async () => {
      const clients = instances.map(({ url }) => clientOf(url, key)) as [Client, Client];
      const clientAt = (number: number) => clients[number % 2] as Client;
      await Promise.all(clients.map((client) => client.get('/pets?limit=1')));
      const before = logged();
      const loggedSince = () => logged().map((text, index) => text.slice(before[index]?.length));
      const refused: Reply[] = [];
      const noting = async (reply: Promise<Reply>) => {
        if ((await reply).status >= 500) refused.push(await reply);
        return reply;
      };
      const adding = load(8, (number) => noting(clientAt(number).add(`${name} ${number}`)), 200);
      const reading = load(8, (number) => noting(clientAt(number).get(`/pets/${number}`)), 200);
      await begin();
      await becomes('degraded');
      await until(() => loggedSince().every((text) => reason.test(text)));
      // Waits for a rejected request, because background queries may be rejected first.
      await until(() => refused.length > 0);
      await end();
      await becomes('ready');
      // /readyz may be up to a second out of date, and a request may still use an old session.
      for (const client of clients)
        await until(async () => (await client.add(`after ${name}`)).status === 201);
      const replies = [...(await adding.stop()), ...(await reading.stop())];

      expect(refused.filter(({ status }) => status !== 503)).toEqual([]);
      expect(refused.every(({ headers }) => Number(headers.get('retry-after')) >= 1)).toBe(true);
      const stored = replies.filter(({ status }) => status === 201);
      const names = await allNames(clients[0]);
      const lost = stored.filter(({ text }) => !names.includes(JSON.parse(text).name));
      expect(lost).toEqual([]);
      // Requests that got 503 are not logged.
      for (const text of loggedSince()) expect(text).not.toContain('"requestId"');
    });
  }

  const otherCauses: Record<string, Pick<Refusal, 'begin' | 'end'>> = {
    'its sessions are read-only': refusals['its sessions are read-only'] as Refusal,
    'the role may not record usage': {
      begin: () => database?.inside('REVOKE INSERT, UPDATE ON usage_minutes FROM shop') as Promise<unknown>,
      end: () => Promise.resolve(),
    },
  };
  for (const [name, cause] of Object.entries(otherCauses)) {
    test(`while or soon after PostgreSQL rejects queries because ${name}, requests that fail because of a lock are logged with this reason and counted separately`, async () => {
      const { startInstance } = cluster as NonNullable<typeof cluster>;
      await using instance = await startInstance({ POSTGRES_TIMEOUT_MS: '2000' });
      const client = clientOf(instance.url, key);
      const failed = { before: 0, locked: 0 };
      const addUntil = (phase: keyof typeof failed, isOver: (status: number) => boolean) =>
        until(async () => {
          const { status } = await client.add(phase);
          if (status === 503) failed[phase]++;
          return isOver(status);
        });
      const lines = () => instance.stderr().split('\n');
      const lineOf = (...parts: string[]) =>
        lines().find((line) => parts.every((part) => line.includes(part)));
      const refusedIn = (line = '') => Number(/"refused":(\d+)/.exec(line)?.[1]);

      await cause.begin();
      await addUntil('before', () => lineOf('degraded: PostgreSQL queries unavailable') !== undefined);
      await cause.end();
      await addUntil('before', (status) => status === 201);
      await using session = openSession(database?.url ?? '');
      await session`BEGIN`;
      await session`LOCK TABLE pets IN EXCLUSIVE MODE`;
      const reason = '"reason":"canceling statement due to statement timeout"';
      await addUntil('locked', () => lineOf(reason, '"requests fail with 503"') !== undefined);
      await session`ROLLBACK`;
      await addUntil('locked', (status) => status === 201);
      const otherEnd = '"requests no longer fail with 503';
      await until(() => lineOf(otherEnd) !== undefined);
      await database?.inside('GRANT INSERT, UPDATE ON usage_minutes TO shop');
      const end = 'PostgreSQL queries available again';
      await until(() => lineOf(end) !== undefined);
      // No request is counted twice.
      const counted = refusedIn(lineOf(otherEnd)) + refusedIn(lineOf(end));
      expect(counted).toBeLessThanOrEqual(failed.before + failed.locked);
      await becomes('ready');
    });
  }

  test('if only three connections are allowed, each instance gets at least one and eventually serves all requests', async () => {
    const clients = instances.map(({ url }) => clientOf(url, key)) as [Client, Client];
    const adding = load(16, (number) => (clients[number % 2] as Client).add(`few ${number}`));
    // Fewer connections than the instances need, so that they compete for connections.
    await database?.allowConnections(3);
    let served = 0;
    await until(async () => {
      const replies = await Promise.all(clients.map((client) => client.add('few')));
      served = replies.every(({ status }) => status === 201) ? served + 1 : 0;
      return served === 20;
    });
    const replies = await adding.stop();
    expect(new Set(replies.map(({ status }) => status).filter((status) => status >= 500))).toEqual(
      new Set(replies.some(({ status }) => status === 503) ? [503] : []),
    );
    const settled = await Promise.all(
      Array.from({ length: 40 }, (_, index) => (clients[index % 2] as Client).get(`/pets/${index + 1}`)),
    );
    expect(settled.filter(({ status }) => status !== 200 && status !== 404)).toEqual([]);
    expect(await database?.sessions()).toBeLessThanOrEqual(3);
    await database?.allowConnections(-1);
    await becomes('ready');
  });
});
