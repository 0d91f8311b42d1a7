import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { clientErrors, type ErrorCode } from '../../src/contract/errors.ts';
import { allOperations, type OperationId } from '../../src/contract/operations.ts';
import type { Caller } from '../../src/domain/caller.ts';
import { findLatencyBucket } from '../../src/domain/latency.ts';
import { latencyBounds, sumTraffic, type Traffic } from '../../src/operations/observability/traffic.ts';
import { TrafficCounter } from '../../src/operations/observability/traffic-counter.ts';
import type { LatencyUsage, MinuteUsage } from '../../src/storage/admin.ts';
import { FakeClock } from '../support/clock.ts';
import { always } from '../support/property.ts';

const callerOf = (keyId: number) => ({ keyId, accountId: keyId * 10 }) as Caller;
const justNow = () => performance.now();

function counterAt(instant: string) {
  const clock = new FakeClock(instant);
  return { clock, counter: new TrafficCounter(clock) };
}

/** Removes and returns all per-minute rows, a few at a time. */
function takeMinutes(counter: TrafficCounter, most = 3): MinuteUsage[] {
  const taken: MinuteUsage[] = [];
  for (let rows = counter.peekMinutes(most); rows.minutes.length > 0; rows = counter.peekMinutes(most)) {
    taken.push(...rows.minutes);
    counter.dropMinutes(rows);
  }
  return taken;
}

describe('per-minute statistics', () => {
  test('contain every request exactly once, whenever they are collected, even if the clock is changed', () => {
    const request = fc.record({
      operation: fc.constantFrom<OperationId | undefined>(
        ...allOperations.map(({ operationId }) => operationId),
        undefined,
      ),
      code: fc.constantFrom<ErrorCode | undefined>(...(Object.keys(clientErrors) as ErrorCode[]), undefined),
      pauseSeconds: fc.integer({ min: -90, max: 90 }),
      isTaken: fc.boolean(),
    });
    always(
      fc.array(request, { maxLength: 60 }),
      (requests) => {
        const { clock, counter } = counterAt('2027-01-15T10:00:00Z');
        const taken: MinuteUsage[] = [];
        const expected = new Map<string, number>();
        for (const { operation, code, pauseSeconds, isTaken } of requests) {
          clock.step(pauseSeconds);
          counter.count(operation, code, undefined, justNow());
          const minute = clock.now() - (clock.now() % 60_000);
          const name = `${minute} ${operation ?? 'none'} ${code ?? 'ok'}`;
          expected.set(name, (expected.get(name) ?? 0) + 1);
          if (isTaken) taken.push(...takeMinutes(counter));
        }
        taken.push(...takeMinutes(counter), ...takeMinutes(counter));
        const found = new Map<string, number>();
        for (const { minute, operation, code, requests: count } of taken) {
          const name = `${minute} ${operation} ${code}`;
          found.set(name, (found.get(name) ?? 0) + count);
        }
        expect(found).toEqual(expected);
      },
      200,
    );
  });

  test('count the latency of every request in exactly one bucket', () => {
    const { clock, counter } = counterAt('2027-01-15T10:00:00Z');
    const minute = clock.now();
    const taken: LatencyUsage[] = [];
    const take = () => {
      for (let rows = counter.peekMinutes(1); rows.latencies.length > 0; rows = counter.peekMinutes(1)) {
        taken.push(...rows.latencies);
        counter.dropMinutes(rows);
      }
    };
    const count = (ms: number) => counter.count('listPets', undefined, undefined, justNow() - ms);
    for (const ms of [59_000, 59_000, 200_000]) count(ms);
    take();
    count(59_000);
    clock.advance(60);
    count(200_000);
    take();
    const [minuteLong, longest] = [findLatencyBucket(59_001), findLatencyBucket(200_000)];
    expect(taken).toEqual([
      { minute, bucket: minuteLong, requests: 2 },
      { minute, bucket: longest, requests: 1 },
      { minute, bucket: minuteLong, requests: 1 },
      { minute: minute + 60_000, bucket: longest, requests: 1 },
    ]);
  });

  test('can be read repeatedly until they are dropped', () => {
    const { counter } = counterAt('2027-01-15T10:00:00Z');
    counter.count('listPets', undefined, undefined, justNow());
    expect(counter.peekMinutes(9)).toEqual(counter.peekMinutes(9));
    expect(counter.peekMinutes(9)).toMatchObject({
      minutes: [{ requests: 1 }],
      latencies: [{ requests: 1 }],
    });
  });
});

describe('per-second statistics', () => {
  test('are kept for five minutes, with the outcomes of the requests', () => {
    const { clock, counter } = counterAt('2027-01-15T10:00:00Z');
    const first = clock.seconds;
    counter.count('listPets', undefined, undefined, justNow());
    counter.count('listPets', 'rate_limit_exceeded', undefined, justNow());
    clock.advance(299);
    counter.count('createPet', 'service_unavailable', undefined, justNow());
    counter.count(undefined, 'missing_api_key', undefined, justNow());
    const of = () => counter.traffic().seconds.map(({ latencies: _, ...second }) => second);
    const last = { at: first + 299, ok: 0, refused: 1, limited: 0, failed: 1 };
    expect(of()).toEqual([{ at: first, ok: 1, refused: 0, limited: 1, failed: 0 }, last]);
    clock.advance(1);
    expect(of()).toEqual([last]);
    counter.count('listPets', undefined, undefined, justNow());
    expect(of()).toEqual([last, { at: first + 300, ok: 1, refused: 0, limited: 0, failed: 0 }]);
  });
});

describe('a latency', () => {
  test('is counted in the bucket of the first bound that it does not exceed', () => {
    const { counter } = counterAt('2027-01-15T10:00:00Z');
    counter.count('listPets', undefined, undefined, justNow() - 3);
    counter.count('listPets', undefined, undefined, justNow() - 20_000);
    const { buckets = [], sumSeconds } =
      counter.traffic().latencies.find(({ operation }) => operation === 'listPets') ?? {};
    expect(buckets.length).toBe(latencyBounds.length + 1);
    // One latency is above 2.5 ms, the other above every bound.
    expect(buckets.slice(0, latencyBounds.indexOf(0.002_5) + 1)).toEqual(Array(6).fill(0));
    expect(buckets.at(-1)).toBe(1);
    expect(buckets.reduce((sum, count) => sum + count, 0)).toBe(2);
    expect(sumSeconds).toBeGreaterThanOrEqual(20.003);
  });
});

describe('the statistics of API keys', () => {
  test('include request counts by outcome, requests to deprecated operations, and the minute of the last use', () => {
    const { clock, counter } = counterAt('2027-01-15T10:58:30Z');
    counter.count('listPets', undefined, callerOf(7), justNow());
    counter.count('getPet', 'pet_not_found', callerOf(7), justNow());
    counter.count('listPets', undefined, undefined, justNow());
    clock.advance(60);
    counter.count('listPets', 'api_key_banned', callerOf(7), justNow());
    counter.count('createPet', 'internal_error', callerOf(8), justNow());
    const hour = Date.parse('2027-01-15T10:00:00Z');
    const lastUsedAt = Date.parse('2027-01-15T10:59:00Z');
    const none = { hour, ok: 0, refused: 0, limited: 0, failed: 0, deprecated: 0, lastUsedAt };
    const ofSeven = [
      { operation: 'listPets', requests: 2 },
      { operation: 'getPet', requests: 1 },
    ];
    const ofEight = [{ operation: 'createPet', requests: 1 }];
    expect(counter.keys.peek(9)).toEqual([
      { ...none, keyId: 7, accountId: 70, ok: 1, refused: 1, limited: 1, deprecated: 1, operations: ofSeven },
      { ...none, keyId: 8, accountId: 80, failed: 1, operations: ofEight },
    ]);
  });

  test('have one row per hour, oldest first, which can be read repeatedly until it is dropped', () => {
    const { clock, counter } = counterAt('2027-01-15T10:59:59Z');
    counter.count('listPets', undefined, callerOf(7), justNow());
    clock.advance(1);
    counter.count('listPets', undefined, callerOf(7), justNow());
    counter.count('listPets', undefined, callerOf(8), justNow());
    const taken = [];
    for (let rows = counter.keys.peek(1); rows.length > 0; rows = counter.keys.peek(1)) {
      expect(counter.keys.peek(1)).toEqual(rows);
      taken.push(...rows.map(({ keyId, hour, ok }) => [keyId, new Date(hour).getUTCHours(), ok]));
      counter.keys.drop(rows);
    }
    expect(taken).toEqual([
      [7, 10, 1],
      [7, 11, 1],
      [8, 11, 1],
    ]);
  });

  test('cover a limited number of keys, and requests with other keys are counted as lost', () => {
    const { counter } = counterAt('2027-01-15T10:00:00Z');
    let calls = 0;
    counter.keys.whenMany = () => {
      calls++;
    };
    for (let keyId = 1; keyId <= 40_003; keyId++)
      counter.count('listPets', undefined, callerOf(keyId), justNow());
    counter.count('listPets', undefined, callerOf(1), justNow());
    expect(calls).toBe(1);
    expect([counter.keys.takeLost(), counter.keys.takeLost()]).toEqual([3, 0]);
    const rows = counter.keys.peek(150_000);
    expect(rows.length).toBe(40_000);
    expect(rows[0]?.ok).toBe(2);
    counter.keys.drop(rows);
    counter.count('listPets', undefined, callerOf(40_003), justNow());
    expect(counter.keys.peek(9).length).toBe(1);
  });
});

test('the counters of several processes are summed by name', () => {
  const { clock, counter } = counterAt('2027-01-15T10:00:00Z');
  counter.count('listPets', undefined, undefined, justNow());
  clock.advance(1);
  counter.count('getOrder', 'order_not_found', undefined, justNow());
  const one: Traffic = {
    ...counter.traffic(),
    deliveries: { succeeded: 1, repeated: 2, failed: 3, expired: 4 },
    ...{ startedAt: 1, inFlight: 2, openStreams: 3, eventListeners: 4, memoryBytes: 10, store: {} },
    pageCache: { hits: 1, misses: 2 },
    eventLoop: { maxSeconds: 0.5, sumSeconds: 2, looks: 8 },
    output: { linesLost: 3, trouble: undefined },
    troubles: [],
  };
  const other = {
    ...one,
    eventLoop: { ...one.eventLoop, maxSeconds: 0.7 },
    output: { ...one.output, trouble: 'ENOSPC' },
  };
  const sum = sumTraffic([one, other]);
  const twice = (numbers: readonly number[]) => numbers.map((number) => 2 * number);
  expect(sum).toEqual({
    counts: one.counts.map((count) => ({ ...count, requests: 2 })),
    latencies: one.latencies.map(({ operation, buckets, sumSeconds }) => {
      return { operation, buckets: twice(buckets), sumSeconds: 2 * sumSeconds };
    }),
    seconds: one.seconds.map(({ at, ok, refused, limited, failed, latencies }) => {
      const [a = 0, b = 0, c = 0, d = 0] = twice([ok, refused, limited, failed]);
      const doubled = latencies.map(([bucket, requests]) => [bucket, 2 * requests] as const);
      return { at, ok: a, refused: b, limited: c, failed: d, latencies: doubled };
    }),
    inFlight: 4,
    openStreams: 6,
    deliveries: { succeeded: 2, repeated: 4, failed: 6, expired: 8 },
    eventListeners: 8,
    memoryBytes: 20,
    output: { linesLost: 6, trouble: 'ENOSPC' },
    pageCache: { hits: 2, misses: 4 },
    eventLoop: { maxSeconds: 0.7, sumSeconds: 4, looks: 16 },
  });
});
