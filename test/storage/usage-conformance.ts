import { expect } from 'bun:test';
import type { Store } from '../../src/operations/units.ts';
import type { KeyHour, KeyUsage, UsageReport } from '../../src/storage/admin.ts';
import type { Instance } from '../../src/tables/usage.ts';
import { newReport } from '../support/usage.ts';
import type { StoreTest } from './place.ts';
import { enterprise, newKey } from './samples.ts';

const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Start of a day. */
const day = 20_000 * dayMs;
const always = { since: 0, until: Number.MAX_SAFE_INTEGER };
const keepAll = { minutes: 0, history: 0, hours: 0, days: 0, reports: 0, instances: 0 };
const nothing = { ok: 0, refused: 0, limited: 0, failed: 0 };

const instance: Instance = { name: 'one', version: '2.0.0', startedAt: day, seenAt: day };

/** The account of a key created by `makeKeys`. */
const accountOf = (keyId: number) => (keyId === 3 ? 2 : 1);

/** Creates two accounts and keys 1 to 4. */
async function makeKeys(store: Store): Promise<void> {
  const quota = { perMinute: 1, perDay: 2 };
  for (const name of ['one', 'two']) await enterprise(store, quota, name);
  for (const id of [1, 2, 3, 4]) {
    const key = await store.write('createKey', newKey(accountOf(id), `${id}`));
    expect(key.id).toBe(id);
  }
}

function keyUsage(keyId: number, hour: number, given: Partial<KeyHour> = {}): UsageReport['keys'][number] {
  return {
    keyId,
    accountId: accountOf(keyId),
    ...nothing,
    deprecated: 0,
    lastUsedAt: hour,
    hour,
    operations: [],
    ...given,
  };
}

async function report(store: Store, given: Partial<UsageReport>): Promise<void> {
  await store.write('recordUsage', {
    minutes: [],
    latencies: [],
    keys: [],
    number: newReport(day),
    instance,
    ...given,
  });
}

export function usageConforms(check: StoreTest): void {
  check('the requests counted by several processes are summed by minute', async ({ store, beside }) => {
    const other = await beside();
    const count = (minute: number, operation: string, code: string, requests: number) => ({
      minute: day + minute * minuteMs,
      operation,
      code,
      requests,
    });
    await report(store, {
      minutes: [count(1, 'listPets', 'ok', 3), count(1, 'listPets', 'invalid_body', 1)],
    });
    await report(other, { minutes: [count(1, 'listPets', 'ok', 4), count(0, 'none', 'unauthorized', 2)] });
    await report(store, { minutes: [count(2, 'addPet', 'ok', 5_000_000_000)] });
    const all = [
      count(0, 'none', 'unauthorized', 2),
      count(1, 'listPets', 'invalid_body', 1),
      count(1, 'listPets', 'ok', 7),
      count(2, 'addPet', 'ok', 5_000_000_000),
    ];
    expect(await store.usage.minutes(always)).toEqual(all);
    const range = { since: day + minuteMs, until: day + 2 * minuteMs };
    expect(await store.usage.minutes(range)).toEqual(all.slice(1, 3));
  });

  check(
    "a key's requests are summed by hour and by day, and an account's requests across its keys",
    async (bench) => {
      const { store } = bench;
      await makeKeys(store);
      const [first, second, next] = [day, day + hourMs, day + dayMs];
      await report(store, {
        keys: [
          keyUsage(1, first, { ok: 1 }),
          keyUsage(1, second, { refused: 2 }),
          keyUsage(2, second, { limited: 4 }),
        ],
      });
      await report(store, {
        keys: [
          keyUsage(1, second, { ok: 8, failed: 16 }),
          keyUsage(3, second, { ok: 99 }),
          keyUsage(1, next, { ok: 32 }),
        ],
      });
      const { usage } = store;
      const inSecond = { from: second, ...nothing, ok: 8, refused: 2, failed: 16 };
      expect(await usage.periods({ keyId: 1 }, 'hour', always)).toEqual([
        { from: first, ...nothing, ok: 1 },
        inSecond,
        { from: next, ...nothing, ok: 32 },
      ]);
      expect(await usage.periods({ keyId: 1 }, 'hour', { since: second, until: next })).toEqual([inSecond]);
      expect(await usage.periods({ accountId: 1 }, 'hour', { since: second, until: next })).toEqual([
        { ...inSecond, limited: 4 },
      ]);
      expect(await usage.periods({ accountId: 1 }, 'day', always)).toEqual([
        { from: day, ok: 9, refused: 2, limited: 4, failed: 16 },
        { from: next, ...nothing, ok: 32 },
      ]);
      expect(await usage.periods({ keyId: 1 }, 'day', { since: next, until: next + dayMs })).toEqual([
        { from: next, ...nothing, ok: 32 },
      ]);
      expect(await usage.periods({ keyId: 9 }, 'day', always)).toEqual([]);
    },
  );

  check(
    'keys are sorted by requests, or by requests to deprecated operations, in descending order',
    async (bench) => {
      const { store } = bench;
      await makeKeys(store);
      const next = day + dayMs;
      await report(store, {
        keys: [
          keyUsage(1, day, { ok: 5, deprecated: 1 }),
          keyUsage(2, day, {
            limited: 4,
            failed: 3,
            refused: 2,
            ok: 1,
            lastUsedAt: day + minuteMs,
          }),
          keyUsage(3, day, { ok: 5 }),
          keyUsage(1, next, { ok: 6, deprecated: 1 }),
          keyUsage(4, next, { ok: 3, deprecated: 3 }),
        ],
      });
      const { usage } = store;
      const both = { since: day, until: next + 1 };
      const first: KeyUsage = { keyId: 1, accountId: 1, ...nothing, ok: 11, deprecated: 2, lastUsedAt: next };
      expect(await usage.topKeys('all', both, 3)).toEqual([
        first,
        {
          keyId: 2,
          accountId: 1,
          ok: 1,
          refused: 2,
          limited: 4,
          failed: 3,
          deprecated: 0,
          lastUsedAt: day + minuteMs,
        },
        { keyId: 3, accountId: 2, ...nothing, ok: 5, deprecated: 0, lastUsedAt: day },
      ]);
      const ids = async (of: 'all' | 'deprecated', range: { since: number; until: number }) =>
        (await usage.topKeys(of, range, 9)).map(({ keyId }) => keyId);
      expect(await ids('all', both)).toEqual([1, 2, 3, 4]);
      expect(await ids('deprecated', both)).toEqual([4, 1]);
      expect(await ids('all', { since: day, until: next })).toEqual([2, 1, 3]);
      expect(await ids('deprecated', { since: day, until: next })).toEqual([1]);
    },
  );

  check(
    'a report that is sent again is counted once, but updates when its instance was last seen',
    async (bench) => {
      const { store } = bench;
      const other = await bench.beside();
      const first = { process: 'first', number: 7, reportedAt: day };
      const given = {
        minutes: [{ minute: day, operation: 'listPets', code: 'ok', requests: 1 }],
        keys: [keyUsage(1, day, { accountId: 1, ok: 1 })],
      };
      const counted = async () => {
        const [{ requests } = { requests: 0 }] = await store.usage.minutes(always);
        const [{ ok } = { ok: 0 }] = await store.usage.periods({ accountId: 1 }, 'day', always);
        return [requests, ok];
      };
      await makeKeys(store);
      await report(store, { ...given, number: first });
      await report(other, { ...given, number: first, instance: { ...instance, seenAt: day + 1 } });
      expect(await counted()).toEqual([1, 1]);
      expect((await store.instances.list())[0]?.seenAt).toBe(day + 1);
      await report(other, { ...given, number: { ...first, number: 6 } });
      expect(await counted()).toEqual([1, 1]);
      await report(other, { ...given, number: { ...first, number: 8 } });
      await report(store, { ...given, number: { ...first, process: 'second' } });
      expect(await counted()).toEqual([3, 3]);
    },
  );

  check('the sequence numbers of old reports are removed', async ({ store }) => {
    const given = { minutes: [{ minute: day, operation: 'listPets', code: 'ok', requests: 1 }] };
    const [old, young] = [
      { process: 'old', number: 1, reportedAt: day },
      { process: 'young', number: 1, reportedAt: day + 1 },
    ];
    for (const number of [old, young]) await report(store, { ...given, number });
    await store.write('pruneUsage', { ...keepAll, reports: day + 1 });
    for (const number of [old, young]) await report(store, { ...given, number });
    expect(await store.usage.minutes(always)).toMatchObject([{ requests: 3 }]);
  });

  check('the keys with the most requests are found among thousands of rows', async ({ store }) => {
    await makeKeys(store);
    const days = [day, day + dayMs, day + 2 * dayMs];
    for (const at of days) {
      // If 2,000 rows are read at a time, one read ends within the first keys of the last day.
      const keys = Array.from({ length: 999 }, (_, index) =>
        keyUsage(index + 1, at, { ok: 1, deprecated: 1 }),
      );
      const more = [
        keyUsage(4, at, { refused: 2, deprecated: 2 }),
        keyUsage(1, at, { refused: 1, deprecated: 1 }),
      ];
      await report(store, { keys: [...keys, ...more] });
    }
    for (const of of ['all', 'deprecated'] as const) {
      expect(await store.usage.topKeys(of, { since: day, until: day + 3 * dayMs }, 3)).toMatchObject([
        { keyId: 4, ok: 3, refused: 6, deprecated: 9 },
        { keyId: 1, ok: 3, refused: 3, deprecated: 6 },
        { keyId: 2, ok: 3, refused: 0, deprecated: 3 },
      ]);
    }
  });

  check(
    "the last use of a key is the latest one reported, and is returned with the day's requests",
    async (bench) => {
      const { store } = bench;
      await makeKeys(store);
      const next = day + dayMs;
      await report(store, {
        keys: [
          keyUsage(1, day, { ok: 5, lastUsedAt: day + 3 * minuteMs }),
          keyUsage(2, day, { ok: 2 }),
          keyUsage(1, next + hourMs, { ok: 1, failed: 1, lastUsedAt: next + hourMs + 9 * minuteMs }),
        ],
      });
      // A report that arrives later may contain an earlier time.
      await report(store, {
        keys: [keyUsage(1, next + hourMs, { limited: 1, lastUsedAt: next + hourMs + minuteMs })],
      });
      const uses = await store.usage.lastUses([2, 1, 3], next);
      expect(uses.toSorted((one, other) => one.keyId - other.keyId)).toEqual([
        { keyId: 1, lastUsedAt: next + hourMs + 9 * minuteMs, requests: 3 },
        { keyId: 2, lastUsedAt: day, requests: 0 },
      ]);
      expect(await store.usage.lastUses([], next)).toEqual([]);
      const on = await store.usage.keysOn(next, 0, 9);
      const requestsOf = new Map(uses.map(({ keyId, requests }) => [keyId, requests]));
      expect(on.map(({ keyId }) => keyId)).toEqual(
        [1, 2, 3].filter((keyId) => (requestsOf.get(keyId) ?? 0) > 0),
      );
      for (const { keyId, requests } of on) expect(requests).toBe(requestsOf.get(keyId) ?? 0);
      expect(await store.usage.keysOn(next, on[0]?.keyId ?? 0, 1)).toEqual(on.slice(1, 2));
    },
  );

  check('only data older than its cutoff is removed, in several steps', async ({ store }) => {
    const minutes = Array.from({ length: 2_500 }, (_, index) => {
      return { minute: day + index * minuteMs, operation: 'listPets', code: 'ok', requests: 1 };
    });
    const keys = Array.from({ length: 2_500 }, (_, index) =>
      keyUsage(index + 1, day, { accountId: 1, ok: 1 }),
    );
    await report(store, { minutes, keys: [...keys, keyUsage(1, day + dayMs, { ok: 1 })] });
    await report(store, { instance: { ...instance, name: 'two', seenAt: day + 1 } });
    const bounds = {
      minutes: day + 2_400 * minuteMs,
      history: day,
      hours: day + 1,
      days: day,
      reports: day,
      instances: day + 1,
    };
    // Removal takes more than one call.
    expect(await store.write('pruneUsage', bounds)).toBe(true);
    while (await store.write('pruneUsage', bounds));
    expect((await store.usage.minutes(always)).length).toBe(100);
    expect(await store.usage.periods({ accountId: 1 }, 'hour', always)).toMatchObject([
      { from: day + dayMs },
    ]);
    expect(await store.usage.periods({ accountId: 1 }, 'day', always)).toMatchObject([
      { from: day, ok: 2_500 },
      { from: day + dayMs, ok: 1 },
    ]);
    expect((await store.instances.list()).map(({ name }) => name)).toEqual(['two']);
    await store.write('pruneUsage', { ...bounds, days: day + 1 });
    expect(await store.write('pruneUsage', keepAll)).toBe(false);
  });
}
