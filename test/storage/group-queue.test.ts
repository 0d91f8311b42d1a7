import { expect, test } from 'bun:test';
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

const untilDue = async (dueAt: number) => {
  while (performance.now() <= dueAt) await Bun.sleep(1);
};

test('the time a write has counts from its arrival: no group is taken up that has none left, and none waits on', async () => {
  const left: number[] = [];
  // Long enough for a busy machine not to spend what is left between the look and the commit.
  const queue = new GroupQueue<number, number>(2_000, async (_, dueAt) => {
    left.push(dueAt - performance.now());
    // Behind a lock.
    await untilDue(dueAt);
    throw new StorageUnavailable('the lock was not had');
  });
  // More than fit into one group: all come at about the same time, and so are due with the first.
  const writes = Array.from({ length: 3_500 }, (_, index) => queue.add(index));
  expect(new Set(await outcomes(writes))).toEqual(new Set(['unavailable']));
  expect(left.filter((ms) => !(ms > 0))).toEqual([]);
});

test('a commit is told when the oldest of its group is due', async () => {
  const told: number[] = [];
  const queue = new GroupQueue<number, number>(60_000, (items, dueAt) => {
    told.push(dueAt);
    return items.map((outcome) => ({ outcome }));
  });
  const before = performance.now();
  await Promise.all([queue.add(1), queue.add(2)]);
  expect(told).toEqual([expect.any(Number)]);
  expect(told[0]).toBeGreaterThanOrEqual(before + 60_000);
  expect(told[0]).toBeLessThanOrEqual(performance.now() + 60_000);
});

test('after a commit that took nearly all the time there is, writes are taken again', async () => {
  let isSlow = true;
  const queue = new GroupQueue<number, number>(500, async (items, dueAt) => {
    if (isSlow) await untilDue(dueAt);
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
