import { describe, expect } from 'bun:test';
import { randomBytes } from 'node:crypto';
import type { Caller } from '../../src/domain/caller.ts';
import { TrafficCounter } from '../../src/operations/observability/traffic-counter.ts';
import { UsageRecorder } from '../../src/operations/observability/usage-recorder.ts';
import type { Store } from '../../src/operations/units.ts';
import { StorageUnavailable } from '../../src/outages/errors.ts';
import type { UsageReport } from '../../src/storage/admin.ts';
import { type Bench, sqlitePlace, storeTests } from '../storage/place.ts';

const test = storeTests(sqlitePlace);
const keys = 400;

/** A usage recorder on a real store. Tests can make its writes fail, and see their sizes. */
function recording({ store, clock }: Bench) {
  const counter = new TrafficCounter(clock);
  const written: number[] = [];
  const notices: string[] = [];
  const state = { fails: false };
  const write = (async (name: 'recordUsage', input: UsageReport) => {
    if (state.fails) throw new StorageUnavailable('the disk is full');
    await store.write(name, input);
    written.push(Math.max(input.keys.length, input.minutes.length));
  }) as Store['write'];
  const recorder = new UsageRecorder({
    store: { write, health: () => store.health(), events: store.events },
    ...{ counter, clock, randomBytes },
    instance: { name: 'one', version: '1.0.0', startedAt: clock.now() },
    prunes: false,
    events: { areRecorded: true, keepMs: 0 },
    notice: (message) => notices.push(message),
  });
  const use = (keyId: number) =>
    counter.count('listPets', undefined, { keyId, accountId: 1 } as Caller, performance.now());
  return {
    recorder,
    written,
    notices,
    state,
    use,
    useAll: () => {
      for (let keyId = 1; keyId <= keys; keyId++) use(keyId);
    },
    /** Sums of the stored request counts by key, by minute and by latency. */
    stored: async () => {
      const range = { since: clock.now() - 86_400_000, until: clock.now() + 86_400_000 };
      const periods = await store.usage.periods({ accountId: 1 }, 'hour', range);
      const minutes = await store.usage.minutes(range);
      const latencies = await store.usage.latencies({ by: 'minute', stepMs: 60_000, ...range });
      return {
        ofLatencies: latencies.reduce((sum, { requests }) => sum + requests, 0),
        ofKeys: periods.reduce((sum, { ok }) => sum + ok, 0),
        ofMinutes: minutes.reduce((sum, { requests }) => sum + requests, 0),
      };
    },
    [Symbol.asyncDispose]: () => recorder[Symbol.asyncDispose](),
  };
}

/** Expected sums after this number of requests. */
const all = (requests: number) => ({ ofKeys: requests, ofMinutes: requests, ofLatencies: requests });

describe('recorded usage', () => {
  test('is written exactly once, in small batches', async (bench) => {
    await using under = recording(bench);
    under.useAll();
    await under.recorder.record();
    expect(under.written).toEqual([166, 166, 68]);
    expect(await under.stored()).toEqual(all(keys));
    await under.recorder.record();
    expect(await under.stored()).toEqual(all(keys));
  });

  test('is written again after a failed write', async (bench) => {
    await using under = recording(bench);
    under.state.fails = true;
    under.useAll();
    await under.recorder.record();
    bench.clock.advance(3_600);
    under.useAll();
    await under.recorder.record();
    expect(under.written).toEqual([]);
    under.state.fails = false;
    under.use(1);
    await under.recorder.record();
    expect(await under.stored()).toEqual(all(2 * keys + 1));
    expect(under.notices).toEqual([]);
  });

  test('is written early if it covers many keys', async (bench) => {
    await using under = recording(bench);
    for (let keyId = 1; keyId <= 10_000; keyId++) under.use(keyId);
    // Waits for the write that began automatically.
    await under.recorder.record();
    expect(await under.stored()).toEqual(all(10_000));
  });

  test('is complete after a graceful shutdown', async (bench) => {
    const under = recording(bench);
    await under.recorder.record();
    const [alive] = await bench.store.instances.list();
    expect(alive).toEqual({
      name: 'one',
      version: '1.0.0',
      startedAt: bench.clock.now(),
      seenAt: bench.clock.now(),
    });
    under.use(1);
    await under[Symbol.asyncDispose]();
    expect(await under.stored()).toEqual(all(1));
    expect((await bench.store.instances.list())[0]?.seenAt).toBe(0);
  });

  test('is reported as lost when too much of it is pending', async (bench) => {
    await using under = recording(bench);
    under.state.fails = true;
    for (let keyId = 1; keyId <= 40_002; keyId++) under.use(keyId);
    await under.recorder.record();
    await under.recorder.record();
    expect(under.notices).toEqual(['requests are missing from key usage']);
  });
});
