/** Tasks that fail in the background, where they fail no request. */
import { Database } from 'bun:sqlite';
import { afterAll, expect, test } from 'bun:test';
import { troubles } from '../../src/domain/troubles.ts';
import { BackgroundTask } from '../../src/outages/background-task.ts';
import { StorageUnavailable } from '../../src/outages/errors.ts';
import { openSession } from '../storage/postgres-kit.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { patientSettings } from '../support/cluster.ts';
import { newPet } from '../support/pets.ts';
import { testServers } from '../support/servers.ts';
import { until } from '../support/wait.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

async function troublesOf({ url }: TestApp): Promise<readonly string[]> {
  const body = (await (await fetch(`${url}/readyz`)).json()) as { readonly trouble?: readonly string[] };
  return body.trouble ?? [];
}

/** A task that reports failures after ten seconds, on a clock that the test controls. */
function taskOn(store: { isUsable: boolean }) {
  const notices: string[] = [];
  let now = 0;
  const task = new BackgroundTask({
    name: 'sending of webhooks',
    trouble: troubles.webhooks,
    afterMs: 10_000,
    quietMs: 30_000,
    clock: { steady: () => now },
    notice: (text) => notices.push(text),
    isStoreUsable: () => store.isUsable,
  });
  const fail = (reason: string) => task.begin().failed(new StorageUnavailable(reason));
  const advance = (seconds: number) => {
    now += seconds * 1_000;
  };
  return { task, notices, fail, advance };
}

test('a task is reported once it has failed for ten seconds without a success in between', () => {
  const { task, notices, fail, advance } = taskOn({ isUsable: true });
  for (const seconds of [0, 9]) {
    advance(seconds);
    fail('a lock');
  }
  task.begin().succeeded();
  advance(1);
  for (const seconds of [0, 3, 3, 1, 2]) {
    advance(seconds);
    fail('a lock');
  }
  expect([task.troubles, notices]).toEqual([[], []]);
  advance(1);
  for (let run = 0; run < 10; run++) fail('a lock');
  expect(task.troubles).toEqual([troubles.webhooks]);
  task.begin().succeeded();
  expect(task.troubles).toEqual([]);
  expect(notices).toEqual([
    'degraded: sending of webhooks unavailable: a lock (see "Webhooks are not sent" in docs/troubleshooting.md)',
    'sending of webhooks available again',
  ]);
});

test('a run that found nothing to do ends the failure of a task only half a minute after its last failure', () => {
  const { task, fail, advance } = taskOn({ isUsable: true });
  for (let second = 0; second <= 10; second++) {
    fail('a lock');
    task.begin().succeeded(false);
    advance(1);
  }
  expect(task.troubles).toEqual([troubles.webhooks]);
  advance(28);
  task.begin().succeeded(false);
  expect(task.troubles).toEqual([troubles.webhooks]);
  advance(1);
  task.begin().succeeded(false);
  expect(task.troubles).toEqual([]);
});

test('four failures are not reported, because they may belong to as many short outages of the store', () => {
  const { task, fail, advance } = taskOn({ isUsable: true });
  for (let outage = 0; outage < 4; outage++) {
    fail('the server is down');
    task.begin().succeeded(false);
    advance(22);
  }
  expect(task.troubles).toEqual([]);
  fail('the server is down');
  expect(task.troubles).toEqual([troubles.webhooks]);
});

test('the failure of a task that is no longer needed ends, and the log does not say that it works again', () => {
  const { task, notices, fail, advance } = taskOn({ isUsable: true });
  for (let second = 0; second <= 10; second++) {
    fail('a lock');
    advance(1);
  }
  task.begin().notNeeded();
  expect([task.troubles, notices.slice(1)]).toEqual([[], ['sending of webhooks no longer needed']]);
});

test('failures of a task during an outage of the store are not reported, unless they continue after the outage', () => {
  const store = { isUsable: false };
  const { task, fail, advance } = taskOn(store);
  for (let second = 0; second < 60; second++) {
    fail('the server is down');
    advance(1);
  }
  expect(task.troubles).toEqual([]);
  store.isUsable = true;
  for (let second = 0; second < 9; second++) {
    fail('a lock');
    advance(1);
  }
  expect(task.troubles).toEqual([]);
  advance(1);
  fail('a lock');
  expect(task.troubles).toEqual([troubles.webhooks]);
});

test('/readyz reports that usage is not recorded', async () => {
  await using app = await startTestApp();
  using database = new Database(app.config.databaseUrl.replace('sqlite:', ''));
  database.run('PRAGMA busy_timeout = 10000');
  for (const change of ['INSERT', 'UPDATE'])
    database.run(
      `CREATE TRIGGER refuse_${change} BEFORE ${change} ON instances BEGIN SELECT RAISE(ABORT, 'refused'); END`,
    );
  for (let recordings = 0; recordings < 5; recordings++) {
    app.clock.advance(15);
    await app.app.watch.recordUsage();
  }
  expect(await troublesOf(app)).toEqual([troubles.usage]);
  for (const change of ['INSERT', 'UPDATE']) database.run(`DROP TRIGGER refuse_${change}`);
  await app.app.watch.recordUsage();
  expect(await troublesOf(app)).toEqual([]);
});

test.skipIf(servers === undefined)(
  '/readyz reports that new events cannot be read, and that old rows are not removed',
  async () => {
    const { makeSchema, redisUrl, makePrefix } = servers as NonNullable<typeof servers>;
    await using schema = await makeSchema();
    const redis = { REDIS_URL: redisUrl, REDIS_PREFIX: makePrefix() };
    const settings = { DATABASE_URL: schema.url, ...redis, ...patientSettings };
    await using app = await startTestApp(settings, undefined, undefined, { recordEveryMs: 50 });
    await using session = openSession(schema.url);
    const [original] = await session`SELECT pg_get_functiondef('number_events'::regproc) AS text`;
    const stream = await fetch(`${app.url}/v1/events/stream`, {
      headers: { Authorization: `Bearer ${app.key}` },
    });
    await until(() => app.app.watch.traffic.traffic().then(([own]) => own?.eventListeners === 1));
    await session.unsafe(
      "CREATE OR REPLACE FUNCTION number_events() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$",
    );
    await until(async () => {
      app.clock.advance(10);
      const found = await troublesOf(app);
      return found.includes(troubles.events) && found.includes(troubles.sweeps);
    });
    await session.unsafe(original.text);
    await app.call('POST', '/pets', { body: newPet() });
    const decoder = new TextDecoder();
    for await (const bytes of stream.body ?? [])
      if (decoder.decode(bytes, { stream: true }).includes('event: pet.created')) break;
    await until(async () => (await troublesOf(app)).length === 0);
  },
);
