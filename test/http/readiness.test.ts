import { expect, setDefaultTimeout, test } from 'bun:test';
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
