/**
 * Counts requests from account 1 concurrently with other processes. Arguments: data file, worker number, number of
 * requests, quota. After each accepted request, prints the number of requests that remain for the day. A separate
 * mapped file records how many requests were started and finished.
 */
import { writeFileSync } from 'node:fs';
import { systemClock } from '../../src/domain/clock.ts';
import { openLimits } from '../../src/limits/file/open-limits.ts';
import { resolveStoreFiles } from '../../src/store-files/files.ts';
import { strictRules } from '../storage/place.ts';
import { callerWith } from '../storage/samples.ts';

const [path = '', worker = '', count = '', perDay = ''] = process.argv.slice(2);
const limits = openLimits({
  files: resolveStoreFiles(path),
  role: 'worker',
  worker: Number(worker),
  clock: systemClock(),
  rules: strictRules,
  notice: () => {},
});
writeFileSync(`${path}.progress`, Buffer.alloc(4_096));
const progress = new Int32Array(Bun.mmap(`${path}.progress`, { shared: true }).buffer);
const quota = { perMinute: Number(perDay), perDay: Number(perDay) };
const remaining: number[] = [];
for (let request = 0; request < Number(count); request++) {
  Atomics.add(progress, 0, 1);
  const { errorCode, day } = limits.take(callerWith({ quota }));
  Atomics.add(progress, 1, 1);
  if (errorCode === undefined) remaining.push(day.remaining);
}
process.stdout.write(JSON.stringify(remaining));
process.exit();
