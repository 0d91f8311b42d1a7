import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import { dataFileIn, issueKey, startService } from '../support/process.ts';
import { expectStored, expectUnavailable } from './disk.ts';

/** Well above a read's own time on a busy machine, and well below any wait for the lock. */
const promptMs = 400;

/** Takes the lock that writers need, as another process would. */
function lock(path: string): { release: () => void } & Disposable {
  const database = new Database(path);
  database.run('BEGIN IMMEDIATE');
  return { release: () => database.run('ROLLBACK'), [Symbol.dispose]: () => database.close() };
}

test("another process's lock delays creations while it is held, and no read", async () => {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path);
  const client = clientOf(service.url, await issueKey(folder.path, 'pro'));
  await client.get('/pets');

  using held = lock(dataFileIn(folder.path));
  const creations = Promise.all(['one', 'two', 'three'].map((name) => client.add(name)));
  const slowest = { readMs: 0 };
  for (const end = performance.now() + 2_000; performance.now() < end; await Bun.sleep(100)) {
    const { status, tookMs } = await client.get('/pets');
    expect(status).toBe(200);
    slowest.readMs = Math.max(slowest.readMs, tookMs);
  }
  expect(slowest.readMs).toBeLessThan(promptMs);
  held.release();
  for (const { status, tookMs } of await creations) {
    expect(status).toBe(201);
    expect(tookMs).toBeGreaterThan(1_900);
    expect(tookMs).toBeLessThan(2_000 + promptMs);
  }
  expectStored(folder.path, new Map(['one', 'two', 'three'].map((name, index) => [name, index + 1])));
}, 15_000);

test('a lock held for more than 5 seconds refuses creations for nothing, until it is let go', async () => {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path);
  const client = clientOf(service.url, await issueKey(folder.path, 'pro'));
  const { remaining } = await client.get('/pets');

  using held = lock(dataFileIn(folder.path));
  const refused = await client.add('refused');
  expectUnavailable(refused, remaining);
  expect(refused.tookMs).toBeGreaterThan(4_900);
  expect(refused.tookMs).toBeLessThan(5_000 + 2 * promptMs);
  expect((await client.get('/pets')).remaining).toBe(remaining - 1);
  held.release();
  expect((await client.add('stored')).status).toBe(201);
  expectStored(folder.path, new Map([['stored', 1]]));
}, 15_000);

test('a lock on the limit state refuses nobody, and counting goes on', async () => {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path);
  const client = clientOf(service.url, await issueKey(folder.path, 'free'));
  const { remaining } = await client.get('/pets');

  using held = lock(dataFileIn(folder.path).replace(/\.db$/, '.limits.db'));
  for (let request = 1; request <= 5; request++) {
    const reply = await client.get('/pets');
    expect([reply.status, reply.remaining]).toEqual([200, remaining - request]);
    expect(reply.tookMs).toBeLessThan(promptMs);
  }
  expect(await (await fetch(`${service.url}/readyz`)).json()).toMatchObject({ status: 'degraded' });
  held.release();
  expect((await client.get('/pets')).remaining).toBe(remaining - 6);
  expect(await (await fetch(`${service.url}/readyz`)).json()).toEqual({ status: 'ready' });
}, 15_000);
