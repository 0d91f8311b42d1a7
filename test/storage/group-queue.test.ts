import { afterEach, beforeEach, expect, mock, spyOn, test } from 'bun:test';
import { StorageUnavailable, WriteUncertainError } from '../../src/outages/errors.ts';
import { GroupQueue } from '../../src/storage/group-queue.ts';

/** The outcome of each write: its result or the reason for its rejection. */
async function outcomes(writes: readonly Promise<number>[]): Promise<(number | string)[]> {
  const settled = await Promise.allSettled(writes);
  return settled.map((one) => {
    if (one.status === 'fulfilled') return one.value;
    return one.reason instanceof StorageUnavailable ? 'unavailable' : String(one.reason);
  });
}

/** A clock that only the tests advance. */
let now = 0;
beforeEach(() => {
  now = 0;
  spyOn(performance, 'now').mockImplementation(() => now);
});
afterEach(() => mock.restore());

test('the timeout of a write starts when it arrives, and expired writes are not started', async () => {
  const left: number[] = [];
  const queue = new GroupQueue<number, number>(1_000, (_, dueAt) => {
    left.push(dueAt - now);
    // Simulates waiting for a lock until the deadline.
    now = dueAt;
    throw new StorageUnavailable('the lock was not granted');
  });
  // More writes than fit into one group. All arrive at the same time and have the same deadline.
  const writes = Array.from({ length: 3_500 }, (_, index) => queue.add(index));
  expect(new Set(await outcomes(writes))).toEqual(new Set(['unavailable']));
  expect(left).toEqual([1_000]);
});

test('a commit has the deadline of the oldest write in its group', async () => {
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

test('a write that keeps conflicting until it times out does not shorten the timeout of later writes', async () => {
  const groups: (readonly number[])[] = [];
  const queue = new GroupQueue<number, number>(1_000, (items, dueAt) => {
    groups.push(items);
    if (groups.length === 1) {
      now = 850;
      for (const later of [2, 3]) writes.push(queue.add(later));
      return [undefined];
    }
    // Simulates waiting for a lock until the deadline of the remaining writes.
    if (groups.length === 2) {
      now = dueAt;
      throw new StorageUnavailable('the lock was not granted');
    }
    return items.map((outcome) => ({ outcome }));
  });
  const writes = [queue.add(1)];
  const first = await outcomes(writes);
  expect([first, await outcomes(writes)]).toEqual([['unavailable'], ['unavailable', 2, 3]]);
  expect(groups).toEqual([[1], [1, 2, 3], [2, 3]]);
});

test('a group whose outcome is unknown is not retried', async () => {
  const queue = new GroupQueue<number, number>(1_000, (items, dueAt) => {
    if (items.length === 1) {
      now = 850;
      writes.push(queue.add(2));
      return [undefined];
    }
    now = dueAt;
    throw new WriteUncertainError('no response');
  });
  const writes = [queue.add(1)];
  await outcomes(writes);
  expect(await outcomes(writes)).toEqual(['unavailable', 'unavailable']);
});

/**
 * A queue whose commits take the given times. All later commits take the last of these times. Records when each commit
 * starts.
 */
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

test('writes that waited during a single stall are committed', async () => {
  const { queue, begun } = timedQueue(2_000, [5, 5, 1_300, 5]);
  for (const one of [1, 2]) expect(await queue.add(one)).toBe(one);
  // More writes than fit into one group. The second group is committed 700 ms before the deadline.
  const writes = Array.from({ length: 1_012 }, (_, index) => queue.add(index));
  expect(await outcomes(writes)).toEqual(writes.map((_, index) => index));
  expect(begun).toEqual([0, 5, 10, 1_310]);
});

test('on a slow server, a group is not started if it would time out', async () => {
  const { queue, begun } = timedQueue(2_000, [900]);
  for (const one of [1, 2, 3]) expect(await queue.add(one)).toBe(one);
  const writes = Array.from({ length: 3_000 }, (_, index) => queue.add(index));
  // The third group would have only 200 ms left.
  const expected = writes.map((_, index) => (index < 2_000 ? index : 'unavailable'));
  expect(await outcomes(writes)).toEqual(expected);
  expect(begun).toEqual([0, 900, 1_800, 2_700, 3_600]);
});

test('writes are accepted after commits that almost timed out', async () => {
  const { queue } = timedQueue(500, [490, 490, 490, 490, 5]);
  for (const one of [1, 2, 3, 4, 5]) expect(await queue.add(one)).toBe(one);
});

test('the error for a rejected write states the remaining time of the write', async () => {
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

test('writes beyond the maximum queue length are rejected immediately', async () => {
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

test('writes left out of a commit come first in the next group, in their original order', async () => {
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
