import { expect, test } from 'bun:test';
import { statSync } from 'node:fs';
import { clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import { load } from '../support/load.ts';
import { ample, dataFileIn, issueKey, startService } from '../support/process.ts';

/** Each create request adds about 17 KB to the WAL, so 1,000 requests add nearly twice `mostBytes`. */
const creations = 1_000;
const mostBytes = 10_000_000;

test('the write-ahead log stays small even while reads continuously hold snapshots', async () => {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path);
  const client = clientOf(service.url, await issueKey(folder.path, 'enterprise', ample));
  await client.add('first');
  const reading = load(2, () => client.get('/pets/1'));
  await reading.more(1);
  const log = `${dataFileIn(folder.path)}-wal`;
  let largest = 0;
  for (let number = 1; number <= creations; number++) {
    const { status } = await client.add(`animal ${number}`);
    expect(status).toBe(201);
    largest = Math.max(largest, statSync(log).size);
  }
  const reads = await reading.stop();
  expect(reads.every(({ status }) => status === 200)).toBe(true);
  expect(largest).toBeLessThan(mostBytes);
});
