import { expect, setDefaultTimeout, test } from 'bun:test';
import { rowsOf } from '../storage/sqlite-files.ts';
import { clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import { lock } from '../support/lock.ts';
import { dataFileIn, issueKey, limitFileIn, startService } from '../support/process.ts';
import { untilReady } from '../support/ready.ts';
import { testTimeoutMs } from '../support/wait.ts';
import { expectStored, expectUnavailable } from './disk.ts';

setDefaultTimeout(testTimeoutMs);

test("another process's lock delays creations while it is held, and no read", async () => {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path);
  const client = clientOf(service.url, await issueKey(folder.path, 'pro'));
  await client.get('/pets');

  using held = lock(dataFileIn(folder.path));
  const answered: string[] = [];
  const creations = ['one', 'two', 'three'].map(async (name) => {
    const reply = await client.add(name);
    answered.push(name);
    return { name, ...reply };
  });
  // Reads that waited for the lock would not come back before it is let go.
  for (let read = 0; read < 20; read++) expect((await client.get('/pets')).status).toBe(200);
  expect(answered).toEqual([]);
  held.release();
  const stored = new Map<string, number>();
  for (const { name, status, text } of await Promise.all(creations)) {
    expect(status).toBe(201);
    stored.set(name, (JSON.parse(text) as { id: number }).id);
  }
  expectStored(folder.path, stored);
});

test('a lock held for more than 5 seconds refuses creations for nothing, until it is let go', async () => {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path);
  const client = clientOf(service.url, await issueKey(folder.path, 'pro'));
  const { remaining } = await client.get('/pets');

  using held = lock(dataFileIn(folder.path));
  const refused = await client.add('refused');
  expectUnavailable(refused, remaining);
  expect((await client.get('/pets')).remaining).toBe(remaining - 1);
  held.release();
  expect((await client.add('stored')).status).toBe(201);
  expectStored(folder.path, new Map([['stored', 1]]));
});

test('a lock on the limit state refuses nobody, and counting goes on', async () => {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path);
  const client = clientOf(service.url, await issueKey(folder.path, 'free'));
  const { remaining } = await client.get('/pets');

  using held = lock(limitFileIn(folder.path));
  for (let request = 1; request <= 5; request++) {
    const reply = await client.get('/pets');
    expect([reply.status, reply.remaining]).toEqual([200, remaining - request]);
  }
  expect(await (await fetch(`${service.url}/readyz`)).json()).toMatchObject({ status: 'degraded' });
  held.release();
  expect((await client.get('/pets')).remaining).toBe(remaining - 6);
  await untilReady(service.url);
  // What was counted meanwhile is in the file: of a free account every request is.
  const counts = rowsOf(limitFileIn(folder.path), 'SELECT minute_count AS used FROM usage');
  expect(counts).toEqual([{ used: 60 - remaining + 6 }]);
});
