import { expect, test } from 'bun:test';
import { systemClock } from '../../src/domain/clock.ts';
import { maxTests } from '../../src/domain/delivery.ts';
import { createTestSender } from '../../src/webhooks/attempt.ts';

test('a process has a limited number of test events in flight, and sends others when these have ended', async () => {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const response = { status: 200, milliseconds: 1, body: '', retryAfter: undefined };
  const sendTest = createTestSender({
    send: () => ended.then(() => response),
    clock: systemClock(),
    randomBytes: (length) => new Uint8Array(length),
  });
  const sendFrom = (accountId: number) => sendTest({ id: 1n, accountId, url: '', secret: '' });
  const tests = Array.from({ length: maxTests.perProcess }, (_, at) =>
    sendFrom(Math.floor(at / maxTests.perAccount)),
  );
  expect(await sendFrom(maxTests.perProcess)).toMatchObject({ error: expect.stringMatching(/^Too many/) });
  end();
  for (const { status } of await Promise.all(tests)) expect(status).toBe(200);
  expect((await sendFrom(maxTests.perProcess)).status).toBe(200);
});
