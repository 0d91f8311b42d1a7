/** Several processes count requests from one account in the same mapped file, and one process is killed. */
import { expect, test } from 'bun:test';
import { systemClock } from '../../src/domain/clock.ts';
import { callerOf, dataFile, limitFile, openAlone } from '../storage/limit-kit.ts';
import { temporaryFolder } from '../support/folder.ts';
import { countsIn } from '../support/limit-file.ts';
import { start } from '../support/process.ts';
import { randomFrom } from '../support/random.ts';
import { until } from '../support/wait.ts';

const counter = (folder: string, worker: number, count: number, perDay: number) =>
  start([
    process.execPath,
    `${import.meta.dir}/count-requests.ts`,
    dataFile(folder),
    `${worker}`,
    `${count}`,
    `${perDay}`,
  ]);

test('processes that count requests from the same account concurrently accept exactly as many as the limit allows, and return each value of Remaining exactly once', async () => {
  await using folder = await temporaryFolder();
  await using _serving = openAlone(folder.path, systemClock());
  const limit = 30_000;
  await using one = counter(folder.path, 1, 20_000, limit);
  await using other = counter(folder.path, 2, 20_000, limit);
  expect(await Promise.all([one.exited, other.exited])).toEqual([0, 0]);
  const remaining = [one, other].flatMap((process) => JSON.parse(process.stdout()) as number[]);
  expect(remaining.sort((a, b) => b - a)).toEqual(
    Array.from({ length: limit }, (_, index) => limit - 1 - index),
  );
});

test('killing a process leaves counts exact and does not block other processes', async () => {
  await using folder = await temporaryFolder();
  const clock = systemClock();
  await using serving = openAlone(folder.path, clock);
  const random = randomFrom(11);
  const caller = callerOf({ perMinute: 1e9, perDay: 1e9 });
  let own = 0;
  let [least, most] = [0, 0];
  for (let round = 0; round < 12; round++) {
    await using child = counter(folder.path, 1, 1e9, 1e9);
    const enough = 1 + Math.floor(random() * 20_000);
    const progress = () => new Int32Array(Bun.mmap(`${dataFile(folder.path)}.progress`).buffer);
    await until(() => {
      for (let request = 0; request < 100; request++, own++) serving.limits.take(caller);
      return Bun.file(`${dataFile(folder.path)}.progress`).size > 0 && (progress()[1] ?? 0) >= enough;
    });
    child.signal('SIGKILL');
    await child.exited;
    serving.limits.freeLocksOf(1);
    const [begun = 0, done = 0] = progress();
    least += done;
    most += begun;
    const { day } = countsIn(limitFile(folder.path), 1);
    expect(day).toBeGreaterThanOrEqual(own + least);
    expect(day).toBeLessThanOrEqual(own + most);
    // Number of requests that the killed processes counted, now known exactly.
    [least, most] = [day - own, day - own];
    expect(serving.limits.take(caller).day.remaining).toBe(1e9 - day - 1);
    own++;
    await Bun.file(`${dataFile(folder.path)}.progress`).delete();
  }
});
