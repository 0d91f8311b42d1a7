import { expect, setDefaultTimeout, test } from 'bun:test';
import { dirname } from 'node:path';
import { startTestApp } from '../support/app.ts';
import { lock } from '../support/lock.ts';
import { limitFileIn } from '../support/process.ts';
import { untilReady } from '../support/ready.ts';
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

test('limit state that cannot be saved is told on /readyz until it can, while requests go on', async () => {
  await using app = await startTestApp();
  const ready = async () => (await fetch(`${app.url}/readyz`)).json();
  const { key } = await app.tenant('free');
  {
    using _held = lock(limitFileIn(dirname(app.config.databaseUrl.replace('sqlite:', ''))));
    expect((await app.call('GET', '/pets', { key })).status).toBe(200);
    expect(await ready()).toEqual({
      status: 'degraded',
      trouble: ['Rate-limit state cannot be saved. Limits are enforced from memory.'],
    });
  }
  await untilReady(app.url);
  expect((await app.call('GET', '/pets', { key })).status).toBe(200);
});
