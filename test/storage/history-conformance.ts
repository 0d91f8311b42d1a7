/** Requests and latency over time, on every engine. */
import { expect } from 'bun:test';
import type { Store } from '../../src/operations/units.ts';
import type { UsageReport } from '../../src/storage/admin.ts';
import { newReport } from '../support/usage.ts';
import type { StoreTest } from './place.ts';

const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Start of a day. */
const day = 20_000 * dayMs;
const instance = { name: 'one', version: '2.0.0', startedAt: day, seenAt: day };

async function report(store: Store, given: Partial<UsageReport>): Promise<void> {
  const none = { minutes: [], latencies: [], keys: [] };
  await store.write('recordUsage', { ...none, number: newReport(day), instance, ...given });
}

const count = (minute: number, operation: string, code: string, requests: number) => ({
  minute: day + minute * minuteMs,
  operation,
  code,
  requests,
});
const latency = (minute: number, bucket: number, requests: number) => ({
  minute: day + minute * minuteMs,
  bucket,
  requests,
});

const inOrder = <Row extends object>(rows: readonly Row[]) =>
  rows.map((row) => JSON.stringify(row)).toSorted();

/** Reports usage of three hours from two processes. */
async function fill(store: Store, other: Store): Promise<void> {
  await report(store, {
    minutes: [
      count(0, 'listPets', 'ok', 3),
      count(4, 'addPet', 'ok', 2),
      count(61, 'none', 'unauthorized', 1),
    ],
    latencies: [latency(0, 20, 3), latency(4, 20, 2), latency(61, 7, 1)],
  });
  await report(other, {
    minutes: [
      count(0, 'listPets', 'ok', 4),
      count(5, 'listPets', 'invalid_body', 1),
      count(125, 'addPet', 'ok', 9),
    ],
    latencies: [latency(0, 21, 4), latency(0, 20, 1), latency(125, 40, 5_000_000_000)],
  });
}

export function historyConforms(check: StoreTest): void {
  check(
    'request counts from all processes are summed per interval, whether in minutes or hours',
    async (bench) => {
      const { store } = bench;
      await fill(store, await bench.beside());
      const range = { since: day, until: day + 3 * hourMs };
      const counts = async (by: 'minute' | 'hour', stepMs: number) =>
        inOrder(await store.usage.counts({ by, stepMs, ...range }));
      const at = (ms: number, code: string, requests: number) => ({ from: day + ms, code, requests });
      expect(await counts('minute', 5 * minuteMs)).toEqual(
        inOrder([
          at(0, 'ok', 9),
          at(5 * minuteMs, 'invalid_body', 1),
          at(60 * minuteMs, 'unauthorized', 1),
          at(125 * minuteMs, 'ok', 9),
        ]),
      );
      expect(await counts('hour', hourMs)).toEqual(
        inOrder([
          at(0, 'ok', 9),
          at(0, 'invalid_body', 1),
          at(hourMs, 'unauthorized', 1),
          at(2 * hourMs, 'ok', 9),
        ]),
      );
      expect(await counts('hour', dayMs)).toEqual(
        inOrder([at(0, 'ok', 18), at(0, 'invalid_body', 1), at(0, 'unauthorized', 1)]),
      );
      const early = { since: day, until: day + minuteMs };
      expect(await store.usage.counts({ by: 'minute', stepMs: minuteMs, ...early })).toEqual([
        at(0, 'ok', 7),
      ]);
    },
  );

  check('latency counts are summed per interval and bucket', async (bench) => {
    const { store } = bench;
    await fill(store, await bench.beside());
    const range = { since: day, until: day + 3 * hourMs };
    const at = (ms: number, bucket: number, requests: number) => ({ from: day + ms, bucket, requests });
    expect(inOrder(await store.usage.latencies({ by: 'minute', stepMs: minuteMs, ...range }))).toEqual(
      inOrder([
        at(0, 20, 4),
        at(0, 21, 4),
        at(4 * minuteMs, 20, 2),
        at(61 * minuteMs, 7, 1),
        at(125 * minuteMs, 40, 5_000_000_000),
      ]),
    );
    expect(inOrder(await store.usage.latencies({ by: 'hour', stepMs: dayMs, ...range }))).toEqual(
      inOrder([at(0, 20, 6), at(0, 21, 4), at(0, 7, 1), at(0, 40, 5_000_000_000)]),
    );
  });

  check('request counts are summed by operation and outcome, whether by minute or hour', async (bench) => {
    const { store } = bench;
    await fill(store, await bench.beside());
    const operations = async (by: 'minute' | 'hour', until: number) =>
      inOrder(await store.usage.operations({ by, since: day, until }));
    const of = (operation: string, code: string, requests: number) => ({ operation, code, requests });
    expect(await operations('minute', day + 5 * minuteMs)).toEqual(
      inOrder([of('listPets', 'ok', 7), of('addPet', 'ok', 2)]),
    );
    expect(await operations('hour', day + 3 * hourMs)).toEqual(
      inOrder([
        of('listPets', 'ok', 7),
        of('listPets', 'invalid_body', 1),
        of('addPet', 'ok', 11),
        of('none', 'unauthorized', 1),
      ]),
    );
  });

  check('a long history is read completely', async ({ store }) => {
    const minutes = Array.from({ length: 1_440 }, (_, minute) => count(minute, 'listPets', 'ok', 1));
    await report(store, {
      minutes,
      latencies: minutes.map(({ minute }) => ({ minute, bucket: 3, requests: 1 })),
    });
    const range = { since: day + 7 * minuteMs, until: day + dayMs };
    for (const stepMs of [minuteMs, 5 * minuteMs, 7 * minuteMs]) {
      const steps = { by: 'minute', stepMs, ...range } as const;
      const counts = await store.usage.counts(steps);
      expect(counts.reduce((sum, { requests }) => sum + requests, 0)).toBe(1_433);
      expect(new Set(counts.map(({ from }) => from)).size).toBe(counts.length);
      expect((await store.usage.latencies(steps)).length).toBe(counts.length);
    }
    expect(await store.usage.operations({ by: 'minute', ...range })).toMatchObject([{ requests: 1_433 }]);
  });

  check("a key's request counts are summed by day and operation", async ({ store, beside }) => {
    const counts = { accountId: 1, ok: 1, refused: 0, limited: 0, failed: 0, deprecated: 0 };
    const hours = (keyId: number, hour: number, ...operations: readonly [string, number][]) => ({
      ...{ keyId, hour, lastUsedAt: hour, ...counts },
      operations: operations.map(([operation, requests]) => ({ operation, requests })),
    });
    await report(store, {
      keys: [hours(7, day, ['listPets', 2], ['addPet', 1]), hours(8, day, ['listPets', 50])],
    });
    await report(await beside(), {
      keys: [hours(7, day + hourMs, ['listPets', 3]), hours(7, day + dayMs, ['getPet', 4])],
    });
    const of = (from: number, operation: string, requests: number) => ({ day: from, operation, requests });
    const all = [of(day, 'addPet', 1), of(day, 'listPets', 5), of(day + dayMs, 'getPet', 4)];
    const always = { since: 0, until: day + 9 * dayMs };
    expect(await store.usage.keyOperations(7, always)).toEqual(all);
    expect(await store.usage.keyOperations(7, { since: day + 1, until: day + dayMs + 1 })).toEqual(
      all.slice(2),
    );
    expect(await store.usage.keyOperations(9, always)).toEqual([]);
  });

  check('a report that is sent twice is counted only once in the history', async (bench) => {
    const { store } = bench;
    const number = { process: 'uncertain', number: 1, reportedAt: day };
    const given = { minutes: [count(0, 'listPets', 'ok', 1)], latencies: [latency(0, 20, 1)], number };
    await report(store, given);
    await report(await bench.beside(), given);
    const steps = { by: 'hour', stepMs: hourMs, since: day, until: day + hourMs } as const;
    expect(await store.usage.counts(steps)).toMatchObject([{ requests: 1 }]);
    expect(await store.usage.latencies(steps)).toMatchObject([{ requests: 1 }]);
  });

  check('history older than its cutoff is removed', async ({ store }) => {
    const operations = [{ operation: 'listPets', requests: 1 }];
    const counts = {
      keyId: 1,
      accountId: 1,
      ok: 1,
      refused: 0,
      limited: 0,
      failed: 0,
      deprecated: 0,
      operations,
    };
    await report(store, {
      minutes: [count(0, 'listPets', 'ok', 1), count(60, 'listPets', 'ok', 1)],
      latencies: [latency(0, 20, 1), latency(60, 20, 1)],
      keys: [day - dayMs, day].map((hour) => ({ ...counts, hour, lastUsedAt: hour })),
    });
    const kept = { minutes: 0, hours: 0, days: 0, reports: 0, instances: 0 };
    await store.write('pruneUsage', { ...kept, history: day + 1 });
    const all = { since: 0, until: day + dayMs };
    const from = [{ from: day + hourMs, requests: 1 }];
    expect(await store.usage.counts({ by: 'hour', stepMs: hourMs, ...all })).toMatchObject(from);
    expect(await store.usage.latencies({ by: 'hour', stepMs: hourMs, ...all })).toMatchObject(from);
    expect(await store.usage.keyOperations(1, all)).toEqual([]);
    const minutes = { by: 'minute', stepMs: minuteMs, since: day, until: day + dayMs } as const;
    expect((await store.usage.latencies(minutes)).length).toBe(2);
    await store.write('pruneUsage', { ...kept, history: 0, minutes: day + 1 });
    expect((await store.usage.latencies(minutes)).length).toBe(1);
  });
}
