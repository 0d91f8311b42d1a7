/** Reads of streams that catch up with the stored events. */
import { expect, test } from 'bun:test';
import { FairQueue, restInProportion } from '../../src/domain/fair-queue.ts';
import { nextTick } from '../../src/domain/pacer.ts';

/** Catch-up reads with a clock that advances only during reads, and with rests that end when `wake` is called. */
function controlled() {
  let now = 0;
  const rests: number[] = [];
  let wake: () => void = () => undefined;
  const rest = restInProportion((ms, next) => {
    rests.push(ms);
    wake = next;
  });
  const pacer = new FairQueue<number>(rest, () => now);
  const begun: string[] = [];
  const read = (accountId: number, name: string, tookMs = 2) =>
    pacer.take(accountId, async () => {
      begun.push(name);
      now += tookMs;
    });
  /** Ends the current rest, and lets the next read finish. */
  const endRest = async () => {
    wake();
    await nextTick();
  };
  return { read, endRest, begun, rests, pacer };
}

test('a read begins only after a pause three times as long as the previous read', async () => {
  const { read, endRest, begun, rests } = controlled();
  await read(1, 'first', 5);
  const second = read(2, 'second', 400);
  await nextTick();
  expect([begun, rests]).toEqual([['first'], [15]]);
  await endRest();
  await second;
  expect([begun, rests]).toEqual([
    ['first', 'second'],
    [15, 1_000],
  ]);
});

test('accounts take turns, however many streams each has', async () => {
  const { read, endRest, begun } = controlled();
  await read(1, 'a0');
  const waiting = [
    ...['a1', 'a2', 'a3'].map((name) => read(1, name)),
    ...['b1', 'b2'].map((name) => read(2, name)),
    read(3, 'c1'),
  ];
  for (const _ of waiting) await endRest();
  await Promise.all(waiting);
  expect(begun).toEqual(['a0', 'a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
});

test('a failed read rejects, and the next read begins', async () => {
  const rests: (() => void)[] = [];
  const pacer = new FairQueue<number>(restInProportion((_, next) => void rests.push(next)));
  const failed = pacer.take(1, () => Promise.reject(new Error('unreachable')));
  const next = pacer.take(1, async () => 'read');
  expect(failed).rejects.toThrow('unreachable');
  await failed.catch(() => undefined);
  rests[0]?.();
  expect(await next).toBe('read');
});

test('a read that cannot start in time is skipped, and the others keep their order', async () => {
  const { read, endRest, begun, pacer } = controlled();
  await read(1, 'a0');
  const late = pacer.take(1, async () => begun.push('late'), 0);
  const waiting = [read(1, 'a1'), read(2, 'b1')];
  expect(await late).toBeUndefined();
  for (const _ of waiting) await endRest();
  await Promise.all(waiting);
  expect(begun).toEqual(['a0', 'a1', 'b1']);
});

test('closing the pacer skips all queued reads', async () => {
  const { read, pacer, begun } = controlled();
  await read(1, 'a0');
  const waiting = [read(1, 'a1'), read(2, 'b1')];
  pacer.close();
  await Promise.all(waiting);
  expect(begun).toEqual(['a0']);
});
