import { expect, test } from 'bun:test';
import { startTestApp } from '../support/app.ts';

test('a service that stops says so on /readyz, and closes the connections of those it still answers', async () => {
  const app = await startTestApp({ DRAIN_SECONDS: '1' });
  expect((await app.call('GET', '/pets')).header('Connection')).not.toBe('close');
  const stopped = app[Symbol.asyncDispose]();
  // The part of the disposal that begins the drain comes after the operator's store is closed.
  let ready = await fetch(`${app.url}/readyz`);
  for (let tries = 0; ready.status === 200 && tries < 20; tries++) ready = await fetch(`${app.url}/readyz`);
  expect(ready.status).toBe(503);
  expect([ready.headers.get('retry-after'), ready.headers.get('connection')]).toEqual(['5', 'close']);
  expect(await ready.json()).toEqual({ status: 'stopping' });
  const answer = await app.call('GET', '/pets');
  expect([answer.status, answer.header('Connection')]).toEqual([200, 'close']);
  await stopped;
});
