import { expect, test } from 'bun:test';
import { ReplyTimeouts } from '../../src/limits/redis/reply-timeouts.ts';

test('pending replies on a closed connection are rejected, even if the next connection works', async () => {
  let timedOut = 0;
  const timeouts = new ReplyTimeouts(
    60_000,
    () => 'no answer',
    () => timedOut++,
  );
  // Simulates a reply that the Redis client dropped when the connection was closed.
  const lost = timeouts.within(new Promise<never>(() => {})).catch((error) => error);
  timeouts.abandon();
  expect(await timeouts.within(Promise.resolve('answered'))).toBe('answered');
  expect(await lost).toBe('no answer');
  expect(timedOut).toBe(0);
});
