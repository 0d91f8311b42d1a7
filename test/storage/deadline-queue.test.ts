import { describe, expect, test } from 'bun:test';
import { DeadlineQueue, type Pending } from '../../src/outages/deadline-queue.ts';

interface Entry extends Pending {
  readonly id: number;
}

/** A queue whose entries use their id as the deadline, and the ids of rejected entries. */
function queueOf(most: number, ...ids: number[]) {
  const rejected: number[] = [];
  const queue = new DeadlineQueue<Entry>({ maxEntries: most, overload: (size) => new Error(`${size} wait`) });
  const entry = (id: number): Entry => ({ id, dueAt: id, reject: () => rejected.push(id) });
  const numbers = ids.map((id) => queue.add(entry(id)));
  return { queue, entry, numbers, rejected };
}

const idsOf = (entries: readonly Entry[]) => entries.map(({ id }) => id);

describe('a queue with deadlines', () => {
  test('returns entries in FIFO order', () => {
    const { queue, entry } = queueOf(9, 1, 2, 3);
    expect(idsOf(queue.take(2))).toEqual([1, 2]);
    queue.add(entry(4));
    expect([queue.oldest?.id, queue.size]).toEqual([3, 2]);
    expect(idsOf(queue.take(9))).toEqual([3, 4]);
    expect([queue.oldest, queue.size]).toEqual([undefined, 0]);
  });

  test('rejects entries beyond its limit until another entry is removed', () => {
    const { queue, entry, numbers } = queueOf(2, 1, 2);
    expect(() => queue.add(entry(3))).toThrow('2 wait');
    queue.remove(numbers[1] ?? 0);
    queue.add(entry(4));
    expect(idsOf(queue.take(9))).toEqual([1, 4]);
  });

  test('removes an entry at any position, exactly once', () => {
    const { queue, numbers } = queueOf(9, 1, 2, 3, 4);
    const removed = [2, 0, 2].map((index) => queue.remove(numbers[index] ?? 0)?.id);
    expect(removed).toEqual([3, 1, undefined]);
    expect(idsOf(queue.take(9))).toEqual([2, 4]);
    expect(queue.remove(numbers[3] ?? 0)).toBeUndefined();
  });

  test('adds requeued entries at the front', () => {
    const { queue } = queueOf(9, 1, 2, 3, 4);
    const [, second, third] = queue.take(3);
    queue.requeue([second as Entry, third as Entry]);
    expect(queue.size).toBe(3);
    expect(idsOf(queue.take(9))).toEqual([2, 3, 4]);
  });

  test('rejects expired entries whatever the order of their deadlines, and all entries when it is closed', () => {
    const { queue, rejected } = queueOf(9, 5, 1, 9, 3);
    expect(queue.expire('late', 3)).toBe(2);
    expect([rejected, queue.oldest?.id]).toEqual([[1, 3], 5]);
    expect(queue.expire('closed')).toBe(2);
    expect([rejected, queue.size]).toEqual([[1, 3, 5, 9], 0]);
  });

  test('keeps entry numbers and order when thousands of later entries are removed before the oldest', () => {
    const { queue, entry, numbers } = queueOf(Number.POSITIVE_INFINITY, 0);
    const passing = (count: number) => {
      for (let id = 1; id <= count; id++) expect(queue.remove(queue.add(entry(id)))?.id).toBe(id);
    };
    passing(3_000);
    expect([queue.size, queue.oldest?.id]).toEqual([1, 0]);
    expect(queue.remove(numbers[0] ?? 0)?.id).toBe(0);
    passing(3_000);
    const last = queue.add(entry(7));
    expect(queue.remove(last)?.id).toBe(7);
    expect(queue.size).toBe(0);
  });

  test('checks for expired entries as long as it contains entries', async () => {
    const queue = new DeadlineQueue({ expiry: { intervalMs: 1, run: () => queue.expire('late') } });
    for (let round = 0; round < 2; round++) {
      const error = await new Promise((_, reject) => queue.add({ dueAt: 0, reject })).catch((late) => late);
      expect([error, queue.size]).toEqual(['late', 0]);
    }
  });
});
