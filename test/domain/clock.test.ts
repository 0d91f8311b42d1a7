import { afterEach, expect, setSystemTime, test } from 'bun:test';
import { steadyClock } from '../../src/domain/clock.ts';

afterEach(() => {
  setSystemTime();
});

test('the clock starts at the time of the system, in whole milliseconds', () => {
  const before = Date.now();
  const now = steadyClock().now();
  // Two clocks are read one after the other, each to its own precision.
  expect(now).toBeGreaterThanOrEqual(before - 2);
  expect(now).toBeLessThanOrEqual(Date.now() + 2);
  expect(Number.isInteger(now)).toBe(true);
});

test.each([-3_600_000, 3_600_000])('a step of the wall clock by %d ms does not move it', (step) => {
  const clock = steadyClock();
  const before = clock.now();
  setSystemTime(Date.now() + step);
  const after = clock.now();
  expect(after).toBeGreaterThanOrEqual(before);
  expect(after - before).toBeLessThan(60_000);
});
