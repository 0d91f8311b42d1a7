import { expect, test } from 'bun:test';
import { nextTick } from '../../src/domain/pacer.ts';

test('a tick of the event loop runs one part of a long task, however many tasks there are', async () => {
  let ran = 0;
  const ranByTick: number[] = [];
  const tasks = Array.from({ length: 3 }, async () => {
    for (let part = 0; part < 2; part++) {
      await nextTick();
      ran++;
    }
  });
  const count = () => {
    ranByTick.push(ran);
    if (ran < 6) setImmediate(count);
  };
  setImmediate(count);
  await Promise.all(tasks);
  expect(ranByTick.slice(0, 5)).toEqual([1, 2, 3, 4, 5]);
});
