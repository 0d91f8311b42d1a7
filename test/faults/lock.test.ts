import { expect, test } from 'bun:test';
import { clientOf } from '../support/client.ts';
import { temporaryFolder } from '../support/folder.ts';
import { lock } from '../support/lock.ts';
import { ample, dataFileIn, issueKey, makeStore, startService } from '../support/process.ts';
import { expectStored } from './disk.ts';

test('a write lock held by another process delays create requests, but not reads', async () => {
  await using folder = await temporaryFolder();
  await using service = await startService(folder.path);
  const client = clientOf(service.url, await issueKey(folder.path, 'enterprise', ample));
  await client.get('/pets');

  using held = lock(dataFileIn(folder.path));
  const answered: string[] = [];
  const creations = ['one', 'two', 'three'].map(async (name) => {
    const reply = await client.add(name);
    answered.push(name);
    return { name, ...reply };
  });
  // A read that waited for the lock would return only after the lock is released.
  for (let read = 0; read < 2; read++) expect((await client.get('/pets')).status).toBe(200);
  expect(answered).toEqual([]);
  held.release();
  const stored = new Map<string, number>();
  for (const { name, status, text } of await Promise.all(creations)) {
    expect(status).toBe(201);
    stored.set(name, (JSON.parse(text) as { id: number }).id);
  }
  expectStored(folder.path, stored);
});

test('a service can start while another process holds the write lock, because startup writes nothing', async () => {
  await using folder = await temporaryFolder();
  await makeStore(folder.path);
  const key = await issueKey(folder.path, 'pro');
  using _held = lock(dataFileIn(folder.path));
  await using service = await startService(folder.path);
  expect((await clientOf(service.url, key).get('/pets')).status).toBe(200);
});
