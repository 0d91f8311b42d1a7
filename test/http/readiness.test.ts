import { expect, setDefaultTimeout, test } from 'bun:test';
import { header } from '../../src/storage/sqlite/limits/layout.ts';
import { LimitFile } from '../../src/storage/sqlite/limits/limit-file.ts';
import { startTestApp } from '../support/app.ts';
import { testTimeoutMs, until } from '../support/wait.ts';

setDefaultTimeout(testTimeoutMs);

test('a service that stops says so on /readyz, and closes the connections of those it still answers', async () => {
  const app = await startTestApp({ DRAIN_SECONDS: '5' });
  expect((await app.call('GET', '/pets')).header('Connection')).not.toBe('close');
  const stopped = app[Symbol.asyncDispose]();
  // The part of the disposal that begins the drain comes after the operator's store is closed.
  let ready = await fetch(`${app.url}/readyz`);
  await until(async () => {
    if (ready.status === 200) ready = await fetch(`${app.url}/readyz`);
    return ready.status !== 200;
  });
  expect(ready.status).toBe(503);
  expect([ready.headers.get('retry-after'), ready.headers.get('connection')]).toEqual(['5', 'close']);
  expect(await ready.json()).toEqual({ status: 'stopping' });
  const answer = await app.call('GET', '/pets');
  expect([answer.status, answer.header('Connection')]).toEqual([200, 'close']);
  await stopped;
});

test('a service whose limit state is overwritten answers 503, not 500, and says so on /readyz', async () => {
  await using app = await startTestApp();
  const limits = app.config.databaseUrl.replace('sqlite:', '').replace(/\.db$/, '.limits');
  using file = new LimitFile(limits);
  // As a copy of the file has it that another store was served with.
  Atomics.add(file.i32, header.firstOwner, 1_000_000);
  const list = () => fetch(`${app.url}/v1/pets`, { headers: { Authorization: `Bearer ${app.key}` } });
  const answer = await list();
  expect([answer.status, answer.headers.get('Retry-After')]).toEqual([503, '5']);
  expect(await answer.json()).toMatchObject({ code: 'service_unavailable', status: 503 });
  await until(async () => (await (await fetch(`${app.url}/readyz`)).text()).includes('"degraded"'));
  await app.restart();
  expect((await list()).status).toBe(200);
});
