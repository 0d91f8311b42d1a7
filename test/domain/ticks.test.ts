import { expect, test } from 'bun:test';
import { runAtMultiples } from '../../src/domain/run-at-multiples.ts';
import { until } from '../support/wait.ts';

const everyMs = 20;

test('timers with the same interval are due at the same multiples of it, whenever they were started', async () => {
  const due: number[] = [];
  using _first = runAtMultiples(everyMs, (dueAt) => due.push(dueAt));
  await until(() => performance.now() % everyMs > 5);
  using _second = runAtMultiples(everyMs, (dueAt) => due.push(dueAt));
  await until(() => due.length >= 6);

  expect(due.map((dueAt) => Math.floor(dueAt) % everyMs)).toEqual(due.map(() => 0));
});

test('a timer stops if its callback disposes of it', async () => {
  let calls = 0;
  let others = 0;
  const timer = runAtMultiples(everyMs, () => {
    calls++;
    timer[Symbol.dispose]();
  });
  using _other = runAtMultiples(everyMs, () => others++);
  await until(() => others >= 3);

  expect(calls).toBe(1);
});
