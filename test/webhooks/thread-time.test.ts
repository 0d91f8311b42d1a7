/** How the time of the thread that talks to receivers is divided between accounts. */
import { expect, test } from 'bun:test';
import { ThreadTimeBudget } from '../../src/webhooks/thread-time-budget.ts';
import { until } from '../support/wait.ts';

function timeOfThread() {
  const state = { now: 0, used: 0 };
  const time = new ThreadTimeBudget({ now: () => state.now, used: () => state.used });
  const use = (ms: number) => () => {
    state.used += ms;
  };
  return { state, time, use };
}

test('the first 5 ms of each connection are free, and further work adds up, however small its pieces are', () => {
  const { state, time, use } = timeOfThread();
  for (let count = 0; count < 1_000; count++) time.meter(1).run(use(5));
  expect(time.restSeconds(1)).toBe(0);
  const meter = time.meter(1);
  for (let count = 0; count < 205; count++) meter.run(use(1));
  expect(time.restSeconds(1)).toBe(0);
  meter.run(use(10));
  expect(meter.restSeconds()).toBe(1);
  expect(time.restSeconds(1)).toBe(1);
  expect(time.restSeconds(2)).toBe(0);
  state.now += 100;
  expect(time.restSeconds(1)).toBe(0);
});

test('an account is throttled for at most a minute', () => {
  const { state, time, use } = timeOfThread();
  for (let count = 0; count < 9; count++) time.meter(1).run(use(60_000));
  expect(time.restSeconds(1)).toBe(60);
  state.now += 60_000;
  expect(time.restSeconds(1)).toBe(0);
});

test('a lookup is charged for the last part of its answer, and all lookups in flight share the cost of the earlier parts', async () => {
  const { state, time } = timeOfThread();
  const answers = [1, 2, 2, 2].map((accountId) => {
    const answer = Promise.withResolvers<void>();
    void time.duringLookup(accountId, () => answer.promise);
    return answer;
  });
  state.used += 4_005;
  await until(() => time.restSeconds(1) === 8);
  expect(time.restSeconds(2)).toBe(28);
  state.used += 1_005;
  answers[0]?.resolve();
  await until(() => time.restSeconds(1) === 18);
  expect(time.restSeconds(2)).toBe(28);
  for (const { resolve } of answers) resolve();
});
