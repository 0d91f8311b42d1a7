/**
 * PostgreSQL is stopped, killed or frozen. Requests that need PostgreSQL get 503, and no acknowledged change is lost.
 */

import { afterAll, afterEach, describe, expect, test } from 'bun:test';
import { scopes } from '../../src/domain/scope.ts';
import { createOperator } from '../../src/operations/admin/operators.ts';
import { openSession } from '../storage/postgres-kit.ts';
import { type Client, clientOf, type Reply } from '../support/client.ts';
import { startCluster } from '../support/cluster.ts';
import { allNames, load, readiness, untilAll } from '../support/load.ts';
import { consoleOf } from '../support/process.ts';
import { until } from '../support/wait.ts';

const statementTimeoutMs = 1_000;

const cluster = await startCluster({
  instances: 2,
  environment: { POSTGRES_TIMEOUT_MS: String(statementTimeoutMs), REDIS_TIMEOUT_MS: '5000' },
});
// Instances that have lost their servers try to reconnect.
afterEach(() => cluster?.endStarted());
afterAll(() => cluster?.[Symbol.asyncDispose]());

describe.skipIf(cluster === undefined)('PostgreSQL outage', () => {
  // These tests are skipped if no database servers are available.
  const { instances, issueKey, postgres, operator, startInstance } =
    cluster ?? ({} as NonNullable<typeof cluster>);
  const ready = () =>
    untilAll(
      instances.map(({ url }) => url),
      'ready',
    );

  /** Retries a read until it succeeds, because it may exceed the short statement timeout on a busy machine. */
  const untilServed = async <Result>(read: () => Promise<Result>): Promise<Result> => {
    const results: Result[] = [];
    await until(async () => {
      const result = await read().catch(() => undefined);
      if (result !== undefined && (result as Partial<Reply>).status !== 503) results.push(result);
      return results.length > 0;
    });
    return results[0] as Result;
  };

  const away: Record<string, { begin: () => Promise<void>; end: () => Promise<void> }> = {
    frozen: { begin: () => postgres.freeze(), end: () => postgres.thaw() },
    'killed (-9)': { begin: () => postgres.stop('SIGKILL'), end: () => postgres.start() },
    stopped: { begin: () => postgres.stop('SIGTERM'), end: () => postgres.start() },
  };

  for (const [name, { begin, end }] of Object.entries(away)) {
    test(`when PostgreSQL is ${name}, create requests get 503 until it is back, and no acknowledged write is lost`, async () => {
      const { key } = await issueKey();
      const clients = instances.map(({ url }) => clientOf(url, key)) as [Client, Client];
      const adding = load(8, (number) => (clients[number % 2] as Client).add(`${name} ${number}`), 20);
      await adding.more(50);
      await begin();
      await adding.more(50, ({ status }) => status === 503);
      await until(async () =>
        ((await readiness(instances[0]?.url ?? '')).trouble?.join() ?? '').includes('PostgreSQL'),
      );
      await end();
      await ready();
      await adding.more(50, ({ status }) => status === 201);
      const replies = await adding.stop();

      const refused = replies.filter(({ status }) => status === 503);
      expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([201, 503]));
      expect(refused.every(({ headers }) => Number(headers.get('retry-after')) >= 1)).toBe(true);
      const acknowledged = replies
        .filter(({ status }) => status === 201)
        .map(({ text }) => (JSON.parse(text) as { name: string }).name);
      const names = await untilServed(() => allNames(clients[0]));
      expect(new Set(names).size).toBe(names.length);
      expect(acknowledged.filter((one) => !names.includes(one))).toEqual([]);
    });
  }

  test('when PostgreSQL is frozen, a cached page is still served to accounts that sent requests before the outage', async () => {
    const { key } = await issueKey();
    const [client] = instances.map(({ url }) => clientOf(url, key)) as [Client];
    await untilServed(() => client.get('/pets?limit=5'));
    // The second request caches the page.
    const before = await client.get('/pets?limit=5');
    await postgres.freeze();
    const during = await client.get('/pets?limit=5');
    const other = await client.get('/pets?limit=6');
    await postgres.thaw();
    expect([during.status, during.text]).toEqual([200, before.text]);
    expect(other.status).toBe(503);
    // A 503 does not count against the limit.
    expect(other.remaining).toBe(during.remaining);
    await ready();
  });

  test('when webhooks are not sent because their statements time out, the metrics of the supervisor report it', async () => {
    await using instance = await startInstance({ WORKERS: '2', ADMIN_PORT: '0', ADMIN_HOST: '127.0.0.1' });
    const console = await consoleOf(instance);
    const { token } = await createOperator(operator, 'grafana', 'viewer');
    const reports = (value: 0 | 1) =>
      until(async () => {
        const response = await fetch(`${console}/metrics`, { headers: { Authorization: `Bearer ${token}` } });
        return (await response.text()).includes(`animal_store_trouble{part="webhooks"} ${value}\n`);
      });
    const { accountId } = await issueKey();
    const { key } = await operator.keys.create(accountId, 'webhooks', undefined, scopes);
    const created = await fetch(`${instance.url}/v1/webhooks`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: '{"url":"https://1.1.1.1/","types":["webhook.disabled"]}',
    });
    expect(created.status).toBe(201);
    await using session = openSession(postgres.url);
    await session`BEGIN`;
    await session`LOCK TABLE deliveries`;
    await reports(1);
    expect(instance.stderr()).toContain('(see \\"Webhooks are not sent\\" in docs/troubleshooting.md)');
    await session`ROLLBACK`;
    await reports(0);
    await ready();
  });

  test('when PostgreSQL is killed (-9), operator tokens used before the outage can still read the metrics, which report the outage', async () => {
    await using instance = await startInstance({ ADMIN_PORT: '0', ADMIN_HOST: '127.0.0.1' });
    const console = await consoleOf(instance);
    const read = async (token: string) => {
      const response = await fetch(`${console}/metrics`, { headers: { Authorization: `Bearer ${token}` } });
      return { status: response.status, text: await response.text() };
    };
    const { token } = await createOperator(operator, 'prometheus', 'viewer');
    const { token: unread } = await createOperator(operator, 'other', 'viewer');
    await until(async () => (await read(token)).text.includes('animal_store_trouble{part="postgres"} 0'));
    await postgres.stop('SIGKILL');
    await until(async () => (await readiness(instance.url)).trouble?.join().includes('PostgreSQL') === true);
    await until(async () => {
      const { status, text } = await read(token);
      expect(status).toBe(200);
      return text.includes('animal_store_trouble{part="postgres"} 1');
    });
    expect((await read(unread)).status).toBe(503);
    await postgres.start();
    await until(async () => (await read(unread)).status === 200);
  });
});
