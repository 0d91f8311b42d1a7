/** Many operators who view the same figures cost no more than one. */
import { expect, test } from 'bun:test';
import { shareReading } from '../../src/operations/observability/share-reading.ts';

function counted(keepMs: number) {
  let [now, readings] = [0, 0];
  const pending: PromiseWithResolvers<number>[] = [];
  const read = shareReading(
    keepMs,
    () => now,
    () => {
      readings++;
      const reading = Promise.withResolvers<number>();
      pending.push(reading);
      return reading.promise;
    },
  );
  const settle = (end: (reading: PromiseWithResolvers<number>) => void) => {
    for (const reading of pending.splice(0)) end(reading);
  };
  return { read, settle, pass: (ms: number) => (now += ms), count: () => readings };
}

test('concurrent callers share one reading, however long it takes', async () => {
  const { read, settle, pass, count } = counted(0);
  const calls = [read(), read()];
  pass(60_000);
  calls.push(read());
  settle(({ resolve }) => resolve(7));
  expect(await Promise.all(calls)).toEqual([7, 7, 7]);
  expect(count()).toBe(1);
});

test('a reading is cached for the given time after it completes', async () => {
  const { read, settle, pass, count } = counted(1_000);
  const first = read();
  pass(5_000);
  settle(({ resolve }) => resolve(1));
  await first;
  pass(999);
  expect(await read()).toBe(1);
  pass(1);
  const second = read();
  settle(({ resolve }) => resolve(2));
  expect(await second).toBe(2);
  expect(count()).toBe(2);
});

test('a failed reading is not cached', async () => {
  const { read, settle, count } = counted(1_000);
  const failed = [read(), read()];
  settle(({ reject }) => reject(new Error('away')));
  for (const call of failed) expect(call).rejects.toThrow('away');
  await Promise.allSettled(failed);
  const next = read();
  settle(({ resolve }) => resolve(3));
  expect(await next).toBe(3);
  expect(count()).toBe(2);
});
