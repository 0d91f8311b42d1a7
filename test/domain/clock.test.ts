import { expect, test } from 'bun:test';
import { type ClockSteps, systemClock } from '../../src/domain/clock.ts';
import { FakeMachine } from '../support/clock.ts';

const start = new FakeMachine().clock.now();
const hour = 3_600_000;

test('wall-clock time and monotonic time both start at the system time, in whole milliseconds', () => {
  const { clock } = new FakeMachine();
  expect([clock.now(), clock.steady(), clock.aheadSeconds]).toEqual([start, start, 0]);
  const real = systemClock();
  for (const now of [real.now(), real.steady()]) {
    expect(Number.isInteger(now)).toBe(true);
    expect(Math.abs(now - Date.now())).toBeLessThan(hour);
  }
});

test.each([-hour, -1_000, -900, 60, 1_000, hour])(
  'a clock change of %d ms affects wall-clock time immediately, but not monotonic time',
  (stepMs) => {
    const machine = new FakeMachine();
    const { clock } = machine;
    machine.step(stepMs);
    expect(clock.now()).toBe(start + stepMs);
    expect(clock.steady()).toBe(start);
    expect(clock.aheadSeconds).toBe(Math.ceil(stepMs / 1_000) || 0);
    machine.pass(12_345);
    expect(clock.steady()).toBe(start + 12_345);
    expect(clock.now()).toBe(start + stepMs + 12_345);
  },
);

test('clock changes are cumulative, and undoing them leaves no offset', () => {
  const machine = new FakeMachine();
  const { clock } = machine;
  for (const [stepMs, ahead] of [
    [hour, 3_600],
    [1_000, 3_601],
    [-2 * hour, -3_599],
    [hour - 1_000, 0],
  ] as const) {
    machine.step(stepMs);
    expect([clock.steady(), clock.aheadSeconds]).toEqual([start, ahead]);
  }
});

test('monotonic time is never converted to a wall-clock time that is too early', () => {
  const machine = new FakeMachine();
  const { clock } = machine;
  machine.step(400);
  const inAMinute = clock.steady() + 60_000;
  const shown = inAMinute / 1_000 + clock.aheadSeconds;
  machine.pass(60_000);
  expect(shown * 1_000).toBeGreaterThanOrEqual(clock.now());
});

test.each([3_000, hour, 30 * hour])(
  'a suspension of %d ms counts as elapsed time, not as a clock change',
  (sleepMs) => {
    const machine = new FakeMachine();
    const { clock } = machine;
    machine.suspend(sleepMs);
    expect(clock.steady()).toBe(start + sleepMs);
    expect(clock.aheadSeconds).toBe(0);
    // An earlier suspension must not hide a later clock change.
    machine.step(sleepMs);
    expect(clock.steady()).toBe(start + sleepMs);
    expect(clock.aheadSeconds).toBe(sleepMs / 1_000);
  },
);

test('a suspension still counts as elapsed time if the clock is later set back', () => {
  const machine = new FakeMachine();
  const { clock } = machine;
  machine.suspend(hour);
  machine.step(-10 * hour);
  // The system measures suspensions to within about a second. Monotonic time may be too low, but never too high, so
  // that no window ends early.
  expect(clock.steady()).toBeGreaterThanOrEqual(start + hour - 3_000);
  expect(clock.steady()).toBeLessThanOrEqual(start + hour);
});

test('a pause between two readings is not a clock change', () => {
  const machine = new FakeMachine();
  const { clock } = machine;
  machine.interruption = () => machine.pass(2_000);
  clock.steady();
  expect(clock.aheadSeconds).toBe(0);
  expect(clock.steady()).toBe(start + 2_000);
});

/** Clock changes shared by the processes of a service. */
function commonSteps(): ClockSteps & { count: number; aheadMs: number } {
  return {
    count: 0,
    aheadMs: 0,
    add(count, aheadMs) {
      if (this.count !== count) return false;
      this.count++;
      this.aheadMs = aheadMs;
      return true;
    },
  };
}

test('a clock change that several processes detect counts once, and monotonic time is the same in all of them', () => {
  const steps = commonSteps();
  const machines = [new FakeMachine(), new FakeMachine(), new FakeMachine()];
  for (const { clock } of machines) clock.share?.(steps);
  for (const stepMs of [hour, -2 * hour, 1_000]) {
    const before = steps.count;
    for (const machine of machines) {
      machine.pass(250);
      machine.step(stepMs);
    }
    const steady = machines.map(({ clock }) => clock.steady());
    expect(new Set(steady).size).toBe(1);
    expect(new Set(machines.map(({ clock }) => clock.aheadSeconds)).size).toBe(1);
    expect(steps.count).toBe(before + 1);
  }
  expect(machines[0]?.clock.steady()).toBe(start + 750);
  for (const machine of machines) machine.suspend(hour);
  expect(machines.map(({ clock }) => clock.steady())).toEqual(machines.map(() => start + 750 + hour));
});

test('a process that starts after an undetected clock change agrees with the others as soon as they detect it', () => {
  const steps = commonSteps();
  const [old, young] = [new FakeMachine(), new FakeMachine()];
  old.clock.share?.(steps);
  for (const machine of [old, young]) machine.step(hour);
  young.clock.share?.(steps);
  expect(young.clock.steady()).toBe(start + hour);
  expect(old.clock.steady()).toBe(start);
  expect([young.clock.steady(), young.clock.aheadSeconds, steps.count]).toEqual([start, 3_600, 1]);
});

test('a restarted service continues the monotonic time of the previous process', () => {
  const steps = commonSteps();
  const before = new FakeMachine();
  before.clock.share?.(steps);
  before.step(hour);
  before.clock.steady();
  const after = new FakeMachine();
  after.suspend(hour + 5_000);
  after.clock.share?.(steps);
  expect([after.clock.steady(), after.clock.aheadSeconds]).toEqual([start + 5_000, 3_600]);
});
