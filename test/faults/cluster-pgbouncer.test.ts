/**
 * Instances behind PgBouncer in transaction mode. PgBouncer has fewer server sessions than the instances have
 * connections.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import { walkAlike } from '../stress/walk/alike.ts';
import { type Client, clientOf } from '../support/client.ts';
import { startCluster } from '../support/cluster.ts';
import { allNames, load, untilAll } from '../support/load.ts';
import { ownPgBouncer, pgBouncerProgram, throughPgBouncer } from '../support/pgbouncer.ts';
import { type OwnServer, testServers } from '../support/servers.ts';
import { until } from '../support/wait.ts';

const sessions = 3;
const hasPgBouncer = pgBouncerProgram() !== undefined;
const bouncers: OwnServer[] = [];

/** Starts PgBouncer and returns the URL of the database through PgBouncer. */
async function bouncerBefore(url: string): Promise<string> {
  const bouncer = await ownPgBouncer(url, { settings: { default_pool_size: sessions } });
  if (bouncer === undefined) throw new Error('PgBouncer is missing.');
  bouncers.push(bouncer);
  return throughPgBouncer(bouncer, url);
}

const servers = await testServers();
const cluster = hasPgBouncer
  ? await startCluster({
      instances: 2,
      environment: { POSTGRES_TIMEOUT_MS: '1000', REDIS_TIMEOUT_MS: '5000' },
      makeDatabase: ({ url }) => bouncerBefore(url),
    })
  : undefined;
const [before] = bouncers;

afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  for (const bouncer of bouncers) await bouncer[Symbol.asyncDispose]();
  await servers?.[Symbol.asyncDispose]();
});

describe.skipIf(cluster === undefined || servers === undefined)('behind PgBouncer', () => {
  // These tests are skipped if no database servers are available.
  const { instances, issueKey, postgres } = cluster ?? ({} as NonNullable<typeof cluster>);
  const { makeDatabase } = servers ?? ({} as NonNullable<typeof servers>);
  const bouncer = before ?? ({} as OwnServer);
  const ready = () =>
    untilAll(
      instances.map(({ url }) => url),
      'ready',
    );

  test('every outcome of every operation matches the model', async () => {
    if (servers === undefined) return;
    await using database = await makeDatabase();
    const url = await bouncerBefore(database.url);
    const makeSchema = async () => ({ url, [Symbol.asyncDispose]: async () => {} });
    const options = {
      // Other seeds need up to 5,000 requests.
      seed: 5,
      crossesDays: false,
      steps: 500,
      mostSteps: 50_000,
      progress: () => {},
    };
    await walkAlike({ ...servers, makeSchema }, options);
  });

  const away: Record<string, { begin: () => Promise<void>; end: () => Promise<void> }> = {
    'PgBouncer is killed': { begin: () => bouncer.stop('SIGKILL'), end: () => bouncer.start() },
    'PgBouncer is frozen': { begin: () => bouncer.freeze(), end: () => bouncer.thaw() },
    'PostgreSQL is killed': { begin: () => postgres.stop('SIGKILL'), end: () => postgres.start() },
    'PostgreSQL is frozen': { begin: () => postgres.freeze(), end: () => postgres.thaw() },
  };

  for (const [name, { begin, end }] of Object.entries(away)) {
    test(`while ${name}, create requests get 503, and no acknowledged write is lost`, async () => {
      const { key } = await issueKey();
      const clients = instances.map(({ url }) => clientOf(url, key)) as [Client, Client];
      const adding = load(8, (number) => (clients[number % 2] as Client).add(`${name} ${number}`), 20);
      await adding.more(50);
      await begin();
      await adding.more(50, ({ status }) => status === 503);
      await end();
      await ready();
      await adding.more(50, ({ status }) => status === 201);
      const replies = await adding.stop();

      expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([201, 503]));
      const acknowledged = replies
        .filter(({ status }) => status === 201)
        .map(({ text }) => (JSON.parse(text) as { name: string }).name);
      let names: string[] = [];
      await until(async () => {
        names = await allNames(clients[0]).catch(() => []);
        return names.length > 0;
      });
      expect(new Set(names).size).toBe(names.length);
      expect(acknowledged.filter((one) => !names.includes(one))).toEqual([]);
    });
  }
});
