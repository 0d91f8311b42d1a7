import { describe, expect, test } from 'bun:test';
import { ConcurrencyLimit, OverloadedError } from '../../src/limits/redis/concurrency-limit.ts';

const patientMs = 60_000;

/** Tasks that a test completes explicitly. */
function works(limit: ConcurrencyLimit) {
  const started: number[] = [];
  const done = new Map<number, () => void>();
  const run = (number: number) =>
    limit.run(() => {
      started.push(number);
      return new Promise<number>((resolve) => done.set(number, () => resolve(number)));
    });
  return { started, run, finish: (number: number) => done.get(number)?.() };
}

describe('a concurrency limit', () => {
  test('starts tasks up to the maximum immediately, and the remaining ones in order', async () => {
    const { started, run, finish } = works(
      new ConcurrencyLimit({ inFlight: 2, waiting: 10, waitMs: patientMs }),
    );
    const answers = [1, 2, 3, 4].map(run);
    expect(started).toEqual([1, 2]);
    finish(2);
    expect(await answers[1]).toBe(2);
    expect(started).toEqual([1, 2, 3]);
    for (const number of [1, 3]) finish(number);
    await Promise.all([answers[0], answers[2]]);
    finish(4);
    expect(await Promise.all(answers)).toEqual([1, 2, 3, 4]);
  });

  test('rejects tasks beyond the maximum queue length without starting them', async () => {
    const { started, run, finish } = works(
      new ConcurrencyLimit({ inFlight: 1, waiting: 1, waitMs: patientMs }),
    );
    const [first, second] = [run(1), run(2)];
    expect(await run(3).catch((error) => error)).toBeInstanceOf(OverloadedError);
    finish(1);
    await first;
    finish(2);
    await second;
    expect(started).toEqual([1, 2]);
  });

  test('rejects tasks that have waited too long', async () => {
    const { started, run, finish } = works(new ConcurrencyLimit({ inFlight: 1, waiting: 9, waitMs: -1 }));
    const [first, second] = [run(1), run(2).catch((error) => error)];
    finish(1);
    await first;
    expect(await second).toBeInstanceOf(OverloadedError);
    expect(started).toEqual([1]);
  });

  test('starts the next task after one has failed', async () => {
    const limit = new ConcurrencyLimit({ inFlight: 1, waiting: 9, waitMs: patientMs });
    const failing = limit.run(() => Promise.reject(new Error('no')));
    const next = limit.run(async () => 'done');
    expect(await failing.catch(({ message }) => message)).toBe('no');
    expect(await next).toBe('done');
  });
});
