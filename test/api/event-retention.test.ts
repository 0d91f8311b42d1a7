/** Event retention, and changes made with `EVENTS=off`. A reader that misses an event always gets an error. */
import { describe, expect, test } from 'bun:test';
import { dayMs, minuteMs } from '../../src/domain/clock.ts';
import { Sweeper } from '../../src/operations/sweeper.ts';
import type { Transaction } from '../../src/storage/transaction.ts';
import { clusterPlaces } from '../storage/cluster-place.ts';
import { sqlitePlace, storeTests } from '../storage/place.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { newStores } from '../support/new-stores.ts';
import { linksOf, newPet, relative } from '../support/pets.ts';
import { until } from '../support/wait.ts';

const add = async (app: TestApp) =>
  expect((await app.call('POST', '/pets', { body: newPet() })).status).toBe(201);

/** Ids of the events after the cursor, or the error code. */
async function read(app: TestApp, after: string): Promise<unknown> {
  const { status, json } = await app.call('GET', `/events?after=${after}`);
  if (status !== 200) return (json as { code: string }).code;
  return (json as { id: bigint }[]).map(({ id }) => Number(id));
}

/** The cursor of the newest event, from which a reader continues after it has listed the resources. */
async function end(app: TestApp): Promise<string> {
  const link = linksOf(await app.call('GET', '/events?order=desc&limit=1')).next ?? '';
  return new URLSearchParams(relative(link).split('?')[1]).get('after') ?? '';
}

describe.each(await newStores())('on %s', (_name, makeStore) => {
  test('every reader, whenever it started, gets an error after changes made with EVENTS=off', async () => {
    await using store = await makeStore();
    const running = (EVENTS: 'on' | 'off') => startTestApp({ ...store.settings, EVENTS });
    const readers: string[] = [];
    for (const hasEvents of [false, true]) {
      await using on = await running('on');
      if (hasEvents) await add(on);
      readers.push(await end(on));
      await on[Symbol.asyncDispose]();

      await using off = await running('off');
      for (const reader of readers) expect(await read(off, reader)).toBe('events_expired');
      const begunNow = await end(off);
      expect(await read(off, begunNow)).toEqual([]);
      readers.push(begunNow);
      await add(off);
      expect((await off.call('GET', '/events?order=desc')).json).toHaveLength(hasEvents ? 1 : 0);
    }
    await using on = await running('on');
    expect(await read(on, await end(on))).toEqual([]);
    await add(on);
    for (const reader of readers)
      expect([reader, await read(on, reader)]).toEqual([reader, 'events_expired']);
    const newest = await end(on);
    await add(on);
    expect(await read(on, newest)).toEqual([Number(newest) + 1]);
    expect(await read(on, String(Number(newest) - 1))).toHaveLength(2);
  });

  test('a restart with events enabled leaves no gap in the events', async () => {
    await using store = await makeStore();
    await using first = await startTestApp(store.settings);
    await add(first);
    const reader = await end(first);
    await first.restart();
    await add(first);
    expect(await read(first, reader)).toEqual([Number(reader) + 1]);
  });

  test('the service removes expired events, or all events if EVENTS=off', async () => {
    await using store = await makeStore();
    const oldest = async (app: TestApp) => (await app.app.admin.storage.events.bounds()).oldest;
    {
      await using app = await startTestApp({ ...store.settings, EVENTS_KEEP_DAYS: '1' });
      const reader = await end(app);
      await add(app);
      app.clock.advance(dayMs / 1_000 + 1);
      await add(app);
      await until(async () => (await oldest(app)) === 2n);
      expect(await read(app, reader)).toBe('events_expired');
      expect(await read(app, '1')).toEqual([2]);
    }
    await using app = await startTestApp({ ...store.settings, EVENTS: 'off' });
    app.clock.advance(61);
    await until(async () => (await app.app.admin.storage.events.newest(1)).length === 0);
  });
});

const ofTests = {
  record: {
    writes: [],
    run: ({ events }: Transaction, times: readonly number[]) => {
      for (const createdAt of times) events.add({ type: 'pet.created', data: '{}', createdAt });
    },
  },
} as const;

const [old, young] = [1_000, 2_000];
const places = { SQLite: sqlitePlace, ...(await clusterPlaces()) };

describe.each(Object.entries(places))('on %s', (_name, place) => {
  const storeTest = storeTests(place);

  storeTest('expired events are removed in batches of 1,000, oldest first', async ({ store, besideWith }) => {
    const recorder = await besideWith(ofTests);
    await recorder.write('record', [...Array<number>(1_500).fill(old), young, old, young]);
    const prune = () => store.write('pruneEvents', young);
    const oldest = async () => Number((await store.events.bounds()).oldest);
    expect(await oldest()).toBe(1);
    expect([await prune(), await oldest()]).toEqual([true, 1_001]);
    expect([await prune(), await oldest()]).toEqual([false, 1_501]);
    // An old event can follow a recent one if the clock was set back. It is retained.
    expect([await prune(), await oldest()]).toEqual([false, 1_501]);
    expect((await store.events.list(1_500n, 10)).map(({ id }) => Number(id))).toEqual([1_501, 1_502, 1_503]);
  });

  storeTest('events are removed even if nothing reads them', async ({ store, clock, besideWith }) => {
    const recorder = await besideWith(ofTests);
    await recorder.write('record', [...Array<number>(2_500).fill(old), young]);
    const events = { areRecorded: true, keepMs: clock.now() + minuteMs - young };
    const sweeper = new Sweeper({ store, clock, events }, new AbortController().signal);
    clock.advance(minuteMs / 1_000);
    sweeper.start();
    await sweeper.idle();
    expect(await store.events.bounds()).toEqual({ oldest: 2_501n, last: 2_501n });
  });

  storeTest(
    'after a clock step, events are removed only once an hour has passed',
    async ({ store, clock, besideWith }) => {
      const recorder = await besideWith(ofTests);
      await recorder.write('record', [clock.now()]);
      const events = { areRecorded: true, keepMs: dayMs };
      const sweeper = new Sweeper({ store, clock, events }, new AbortController().signal);
      const daySeconds = dayMs / 1_000;
      const isRetained = async () => {
        sweeper.start();
        await sweeper.idle();
        return (await store.events.newest(1)).length === 1;
      };
      clock.advance(60);
      clock.step(2 * daySeconds);
      expect(await isRetained()).toBe(true);
      clock.step(-2 * daySeconds);
      clock.advance(3_599);
      expect(await isRetained()).toBe(true);
      clock.step(2 * daySeconds);
      expect(await isRetained()).toBe(true);
      clock.advance(3_600);
      expect(await isRetained()).toBe(false);
    },
  );
});
