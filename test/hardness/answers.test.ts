/** Refusals stay small, however often a request repeats its mistake. */
import { afterAll, expect, test } from 'bun:test';
import { startTestApp } from '../support/app.ts';

const app = await startTestApp();
afterAll(() => app[Symbol.asyncDispose]());

test.each(['a=&', '=&', 'limit=1&'])('a query of 14,000 bytes of "%s" is blamed once', async (parameter) => {
  const answer = await app.call('GET', `/pets?${parameter.repeat(14_000 / parameter.length)}`);
  expect(answer.status).toBe(400);
  expect(answer.error.details?.length).toBe(1);
  expect(answer.text.length).toBeLessThan(1_000);
});

test('a body that is no JSON is refused without being repeated', async () => {
  const answer = await app.call('POST', '/pets', { body: `secret${'x'.repeat(16_000)}` });
  expect(answer.status).toBe(400);
  expect(answer.text).not.toContain('secret');
  expect(answer.text.length).toBeLessThan(1_000);
});
