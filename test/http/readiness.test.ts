import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { writeSync } from 'node:fs';
import { limitsOverwritten } from '../../src/domain/trouble.ts';
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

describe('a service whose limit state is overwritten', () => {
  const noise = () => Buffer.alloc(64_000, 0xa5);

  test.each([
    // A copy of the file with which another start of the service counted.
    ['by a copy', (file: LimitFile) => Atomics.add(file.i32, header.firstOwner, 1_000_000)],
    ['by noise', (file: LimitFile) => writeSync(file.fd, noise(), 0, noise().length, 0)],
  ])('%s responds 503 on /readyz and to requests until a restart', async (_how, overwrite) => {
    await using app = await startTestApp();
    const limits = app.config.databaseUrl.replace('sqlite:', '').replace(/\.db$/, '.limits');
    {
      using file = new LimitFile(limits);
      overwrite(file);
    }
    const list = () => fetch(`${app.url}/v1/pets`, { headers: { Authorization: `Bearer ${app.key}` } });
    const ready = await fetch(`${app.url}/readyz`);
    expect([ready.status, ready.headers.get('Retry-After')]).toEqual([503, '5']);
    expect(await ready.json()).toEqual({ status: 'unavailable', trouble: [limitsOverwritten] });
    const answer = await list();
    expect([answer.status, answer.headers.get('Retry-After')]).toEqual([503, '5']);
    expect(await answer.json()).toMatchObject({ code: 'service_unavailable', status: 503 });
    await app.restart();
    expect((await fetch(`${app.url}/readyz`)).status).toBe(200);
    expect([200, 429]).toContain((await list()).status);
  });
});
