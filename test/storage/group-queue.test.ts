import { afterEach, beforeEach, expect, mock, spyOn, test } from 'bun:test';
import { GroupQueue } from '../../src/storage/group-queue.ts';
import { StorageUnavailable } from '../../src/storage/storage.ts';

/** What became of each write: its result, or the reason it was refused for. */
async function outcomes(writes: readonly Promise<number>[]): Promise<(number | string)[]> {
  const settled = await Promise.allSettled(writes);
  return settled.map((one) => {
    if (one.status === 'fulfilled') return one.value;
    return one.reason instanceof StorageUnavailable ? 'unavailable' : String(one.reason);
  });
}

/** Time passes when a test says so. */
let now = 0;
beforeEach(() => {
  now = 0;
  spyOn(performance, 'now').mockImplementation(() => now);
});
afterEach(() => mock.restore());

test('the time of a write counts from its arrival: no group begins that has none left', async () => {
  const left: number[] = [];
  const queue = new GroupQueue<number, number>(1_000, (_, dueAt) => {
    left.push(dueAt - now);
    // Behind a lock.
    now = dueAt;
    throw new StorageUnavailable('the lock was not granted');
  });
  // More than fit into one group: all arrive at the same time, and so are due with the first.
  const writes = Array.from({ length: 3_500 }, (_, index) => queue.add(index));
  expect(new Set(await outcomes(writes))).toEqual(new Set(['unavailable']));
  expect(left).toEqual([1_000]);
});

test('a commit is due with the oldest write of its group', async () => {
  const due: number[] = [];
  const queue = new GroupQueue<number, number>(1_000, (items, dueAt) => {
    due.push(dueAt);
    return items.map((outcome) => ({ outcome }));
  });
  const first = queue.add(1);
  now = 5;
  await Promise.all([first, queue.add(2)]);
  expect(due).toEqual([1_000]);
});

/** A queue whose commits take these times, the last one again and again; and when each began. */
function timedQueue(timeoutMs: number, tookMs: readonly number[]) {
  const begun: number[] = [];
  const queue = new GroupQueue<number, number>(timeoutMs, (items, dueAt) => {
    const took = tookMs[Math.min(begun.length, tookMs.length - 1)] as number;
    begun.push(now);
    now = Math.min(now + took, dueAt);
    if (now === dueAt) throw new StorageUnavailable('given up');
    return items.map((outcome) => ({ outcome }));
  });
  return { queue, begun };
}

test('after one stall, writes that have waited for it are committed', async () => {
  const { queue, begun } = timedQueue(2_000, [5, 5, 1_300, 5]);
  for (const one of [1, 2]) expect(await queue.add(one)).toBe(one);
  // More than one group: the second is committed 700 ms before its end.
  const writes = Array.from({ length: 1_012 }, (_, index) => queue.add(index));
  expect(await outcomes(writes)).toEqual(writes.map((_, index) => index));
  expect(begun).toEqual([0, 5, 10, 1_310]);
});

test('on a server that stays slow, no group begins that would be given up', async () => {
  const { queue, begun } = timedQueue(2_000, [900]);
  for (const one of [1, 2, 3]) expect(await queue.add(one)).toBe(one);
  const writes = Array.from({ length: 3_000 }, (_, index) => queue.add(index));
  // The third group would have 200 ms left.
  const expected = writes.map((_, index) => (index < 2_000 ? index : 'unavailable'));
  expect(await outcomes(writes)).toEqual(expected);
  expect(begun).toEqual([0, 900, 1_800, 2_700, 3_600]);
});

test('after commits that took nearly all the time, writes are accepted again', async () => {
  const { queue } = timedQueue(500, [490, 490, 490, 490, 5]);
  for (const one of [1, 2, 3, 4, 5]) expect(await queue.add(one)).toBe(one);
});

test('the reason of a refused write is the time that was left, not the time-out', async () => {
  const { queue } = timedQueue(2_000, [900]);
  for (const one of [1, 2, 3]) await queue.add(one);
  const [, , last] = Array.from({ length: 3 }, (_, group) =>
    Array.from({ length: 1_000 }, (_, index) => queue.add(group + index)),
  ).map((writes) => Promise.allSettled(writes));
  const refused = (await last)?.[0] as PromiseRejectedResult;
  expect((refused.reason as Error).cause).toMatchObject({
    message: 'a write had less than 900 of its 2000 ms left, too little for a commit',
  });
});

test('beyond the longest queue writes are refused at once', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const queue = new GroupQueue<number, number>(60_000, async (items) => {
    await promise;
    return items.map((outcome) => ({ outcome }));
  });
  const first = queue.add(0);
  await new Promise((next) => setImmediate(next));
  await new Promise((next) => setImmediate(next));
  const waiting = Array.from({ length: 10_000 }, (_, index) => queue.add(index));
  expect(await outcomes([queue.add(1)])).toEqual(['unavailable']);
  resolve();
  await Promise.all([first, ...waiting]);
});

test('what a commit stops before comes again with the next group, in its order and before what came later', async () => {
  const groups: (readonly number[])[] = [];
  const queue = new GroupQueue<number, number>(60_000, (items) => {
    groups.push(items);
    if (groups.length === 1) void queue.add(4);
    return items.slice(0, 2).map((outcome) => ({ outcome }));
  });
  expect(await outcomes([queue.add(1), queue.add(2), queue.add(3)])).toEqual([1, 2, 3]);
  expect(groups).toEqual([
    [1, 2, 3],
    [3, 4],
  ]);
});
