/** Instances whose clocks differ agree on all times, because PostgreSQL's clock decides. */

import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { SQL } from 'bun';
import { type SingleProcessApp, startApp } from '../../src/app/app.ts';
import { openapiDocument } from '../../src/app/openapi.ts';
import { readConfig } from '../../src/config.ts';
import { type Clock, hourMs, minuteMs, systemClock } from '../../src/domain/clock.ts';
import type { LeasedDelivery, SettledDelivery } from '../../src/domain/delivery.ts';
import { scopes } from '../../src/domain/scope.ts';
import { troubles } from '../../src/domain/troubles.ts';
import { ServerClock } from '../../src/storage/postgres/server-clock.ts';
import { answerOf } from '../support/call.ts';
import { FakeClock, FakeMachine } from '../support/clock.ts';
import { patientSettings } from '../support/cluster.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { keptLog } from '../support/log.ts';
import { ample } from '../support/process.ts';
import { until } from '../support/wait.ts';
import { leaseRequest } from '../support/webhooks.ts';

describe("the clock of PostgreSQL's server", () => {
  function opened(aheadMs = 0) {
    const machine = new FakeMachine();
    const notices: string[] = [];
    const clock = new ServerClock(machine.clock, (text) => notices.push(text));
    const serverNow = () => machine.clock.steady() + aheadMs;
    clock.apply(serverNow(), clock.steady(), 0);
    return { machine, notices, clock, serverNow };
  }

  test('is used instead of the clock of this machine', () => {
    for (const aheadMs of [-90_000, 0, 25 * hourMs]) {
      const { clock, machine, serverNow } = opened(aheadMs);
      machine.pass(1_000);
      expect(clock.now() - serverNow()).toBeWithin(0, 2);
    }
  });

  test('is affected by a suspension of this machine, but not by a step of its clock', () => {
    const { clock, machine } = opened();
    const before = clock.now();
    machine.step(hourMs);
    expect(clock.now()).toBe(before);
    machine.step(-hourMs);
    machine.suspend(minuteMs);
    expect(clock.now() - before).toBeWithin(minuteMs - 2_000, minuteMs + 2_000);
  });

  test("is known as precisely as the fastest reading allows, and follows a step of the server's clock", () => {
    const { clock, machine, serverNow } = opened();
    const sentAt = clock.steady();
    machine.pass(9_000);
    clock.apply(serverNow() - 8_000, sentAt, 0);
    expect(clock.now() - serverNow()).toBeWithin(0, 2);
    clock.apply(serverNow() - minuteMs, clock.steady(), 0);
    expect(clock.now() - serverNow()).toBeWithin(-minuteMs, -minuteMs + 2);
  });

  test('is reported once if it differs by more than 5 seconds, and again once it agrees', () => {
    const { clock, machine, notices, serverNow } = opened();
    machine.step(5_000);
    clock.apply(serverNow(), clock.steady(), 0);
    expect(clock.isOff).toBe(false);
    machine.step(1_000);
    for (let reading = 0; reading < 3; reading++) clock.apply(serverNow(), clock.steady(), 0);
    expect(clock.isOff).toBe(true);
    machine.step(-6_000);
    clock.apply(serverNow(), clock.steady(), 0);
    expect(notices).toEqual([
      expect.stringContaining("6.0 s ahead of the PostgreSQL server's clock"),
      expect.stringContaining('agrees'),
    ]);
  });

  test('does not change the time of the store when it is stepped, and all processes record the step once', () => {
    const machines = [new FakeMachine(), new FakeMachine()].map(({ clock }) => clock);
    const clocks = machines.map((local) => new ServerClock(local, () => undefined));
    let [steppedMs, recordedMs] = [0, 0];
    const read = () => {
      const recorded = recordedMs;
      for (const [index, clock] of clocks.entries()) {
        const local = machines[index] as Clock;
        const steps = clock.apply(local.steady() + steppedMs, local.steady(), recorded);
        if (steps !== undefined && recordedMs === recorded) recordedMs = steps;
      }
    };
    read();
    const before = clocks.map((clock) => clock.storeTime());
    for (const hours of [-25, 30, 0]) {
      steppedMs = hours * hourMs;
      for (let reading = 0; reading < 3; reading++) {
        read();
        for (const [index, clock] of clocks.entries())
          expect(clock.storeTime() - (before[index] as number)).toBeWithin(-2, 3);
      }
      expect(recordedMs - steppedMs).toBeWithin(-2, 3);
    }
  });

  test('keeps store time correct if it steps back before this process reads the recorded first step', () => {
    const { clock, serverNow } = opened();
    const before = clock.storeTime();
    const read = (steppedMs: number, recordedMs: number) =>
      clock.apply(serverNow() + steppedMs, clock.steady(), recordedMs);
    const recordedMs = read(-25 * hourMs, 0) ?? 0;
    expect(recordedMs).toBeWithin(-25 * hourMs - 2, -25 * hourMs + 3);
    expect(read(0, recordedMs)).toBeWithin(-2, 3);
    expect(clock.storeTime() - before).toBeWithin(-2, 3);
  });

  test('is replaced by a test clock', () => {
    const fake = new FakeClock();
    const clock = new ServerClock(fake, () => undefined);
    clock.apply(fake.now() + hourMs, fake.steady(), 0);
    expect(clock.now()).toBe(fake.now());
  });
});

/** A server whose clock can be set, because a function in the schema shadows the built-in one. */
async function steppedServer(schemaUrl: string) {
  const url = new URL(schemaUrl);
  const schema = url.searchParams.get('search_path');
  url.searchParams.set('search_path', `${schema}, pg_catalog`);
  const sql = new SQL(schemaUrl, { max: 1 });
  const step = (hours: number) =>
    sql.unsafe(`
      CREATE OR REPLACE FUNCTION ${schema}.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS $$ BEGIN
        RETURN pg_catalog.clock_timestamp() + interval '${hours} hours';
      END $$`);
  const recordedMs = async () => {
    const [row] = await sql.unsafe('SELECT clock_steps_ms::float8 AS "recordedMs" FROM store');
    return row.recordedMs as number;
  };
  await step(0);
  return { url: url.href, step, recordedMs, [Symbol.asyncDispose]: () => sql.close() };
}

const newPetJson = '{"name":"Rex","categoryId":1}';

const offsetsMs = [0, 90_000, -25 * hourMs] as const;

await describeWithServers('instances whose clocks differ from that of PostgreSQL', (servers) => {
  const { makeSchema, makePrefix, redisUrl } = servers;

  async function startInstances(more: Readonly<Record<string, string>> = {}) {
    await using started = new AsyncDisposableStack();
    const { url } = started.use(await makeSchema());
    const config = readConfig({
      ...{ PORT: '0', ADMIN_PORT: 'off', DRAIN_SECONDS: '0', WEBHOOKS: 'off' },
      ...{ DATABASE_URL: url, REDIS_URL: redisUrl, REDIS_PREFIX: makePrefix() },
      ...{ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', ...patientSettings, ...more },
    });
    const instances: (SingleProcessApp & { lines: ReturnType<typeof keptLog>['lines'] })[] = [];
    const start = async (offsetMs: number, stack: AsyncDisposableStack) => {
      const { log, lines } = keptLog();
      const clock = systemClock({
        date: () => Date.now() + offsetMs,
        monotonic: () => performance.now(),
        uptime: () => performance.now() / 1_000,
      });
      const runtime = { clock, randomBytes };
      const app = stack.use(await startApp(config, (at) => openapiDocument(config, at), log, runtime));
      return { ...app, lines };
    };
    for (const offsetMs of offsetsMs) instances.push(await start(offsetMs, started));
    const [first] = instances;
    if (first === undefined) throw new Error('There is no instance.');
    const { id } = await first.admin.accounts.create('shop', 'enterprise', ample);
    const { key } = await first.admin.keys.create(id, 'all', undefined, scopes);
    const kept = started.move();
    const another = () => start(0, kept);
    return { instances, another, first, key, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  }

  test('apply a request with the same Idempotency-Key only once', async () => {
    await using store = await startInstances();
    const { key } = store;
    const request = { key, body: newPetJson, headers: { 'Idempotency-Key': 'k' } };
    const answers: string[] = [];
    for (const { url } of [...store.instances].reverse())
      answers.push((await answerOf(url, 'POST', '/pets', request)).text);
    expect(answers).toEqual(Array(offsetsMs.length).fill(answers[0]));
    expect((await store.first.admin.storage.pets.inventory()).available).toBe(1);
  });

  test("replay a response even if PostgreSQL's clock is set back by 25 hours and later forward again", async () => {
    await using schema = await makeSchema();
    await using stepped = await steppedServer(schema.url);
    await using store = await startInstances({ DATABASE_URL: stepped.url });
    const { key } = store;
    const send = async ({ url }: SingleProcessApp, name: string) => {
      const request = { key, body: newPetJson, headers: { 'Idempotency-Key': name } };
      const { status, text } = await answerOf(url, 'POST', '/pets', request);
      expect(status).toBe(201);
      return text;
    };
    const step = async (hours: number) => {
      const aheadMs = ({ admin: { storage } }: SingleProcessApp) => storage.clock.now() - Date.now();
      await stepped.step(hours);
      await until(() => store.instances.every((one) => Math.abs(aheadMs(one) - hours * hourMs) < minuteMs));
      // A process that starts before the step is recorded does not know of it.
      await until(async () => Math.abs((await stepped.recordedMs()) - hours * hourMs) < minuteMs);
    };
    const before = await send(store.first, 'before');
    await step(-25);
    const late = await store.another();
    const whileBack = await send(late, 'while-back');
    await step(0);
    for (const instance of [...store.instances, late])
      expect([await send(instance, 'before'), await send(instance, 'while-back')]).toEqual([
        before,
        whileBack,
      ]);
  });

  test('lease a delivery to only one instance at a time, and retry it only when it is due', async () => {
    await using store = await startInstances();
    const { key, first } = store;
    await answerOf(first.url, 'POST', '/webhooks', { key, body: '{"url":"http://127.0.0.1:9/"}' });
    await answerOf(first.url, 'POST', '/pets', { key, body: newPetJson });
    await first.admin.storage.events.bounds();
    const lease = async (
      { admin: { storage } }: SingleProcessApp,
      settled: readonly SettledDelivery[] = [],
    ) => {
      const now = storage.clock.now();
      const take = leaseRequest(now, { leasedUntil: now + minuteMs, room: 10 });
      // The first round only creates the delivery, or stores the outcome of the attempt.
      await storage.write('dispatchDeliveries', { settled, lease: { ...take, room: 0 } });
      return (await storage.write('dispatchDeliveries', { settled: [], lease: take })).deliveries;
    };
    const leases: LeasedDelivery[][] = [];
    for (const instance of store.instances) leases.push([...(await lease(instance))]);
    expect(leases.map(({ length }) => length)).toEqual([1, 0, 0]);
    const failed = leases.flat().map(({ id, webhookId, leasedUntil }): SettledDelivery => {
      const nextAttemptAt = first.admin.storage.clock.now() + minuteMs;
      return {
        id,
        webhookId,
        leasedUntil,
        status: 'pending',
        attempts: '[]',
        nextAttemptAt,
        finishedAt: null,
      };
    });
    expect(await lease(first, failed)).toEqual([]);
    for (const instance of store.instances) expect(await lease(instance)).toEqual([]);
  });

  test('serve requests, and report the difference in /readyz and once in the log', async () => {
    await using store = await startInstances();
    for (const [index, { url, lines }] of store.instances.entries()) {
      const trouble = offsetsMs[index] === 0 ? [] : [troubles.clock];
      const ready = await fetch(`${url}/readyz`);
      expect(ready.status).toBe(200);
      expect(((await ready.json()) as { trouble?: string[] }).trouble ?? []).toEqual(trouble);
      expect(lines.filter(({ part }) => part === 'clock')).toHaveLength(trouble.length);
    }
  });
});
