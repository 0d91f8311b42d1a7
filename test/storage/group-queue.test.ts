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

test('after a commit that took nearly all the time, writes are accepted again', async () => {
  let isSlow = true;
  const queue = new GroupQueue<number, number>(500, (items, dueAt) => {
    if (isSlow) now = dueAt;
    isSlow = false;
    return items.map((outcome) => ({ outcome }));
  });
  expect(await queue.add(1)).toBe(1);
  expect(await queue.add(2)).toBe(2);
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
