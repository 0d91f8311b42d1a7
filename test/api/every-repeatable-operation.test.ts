/**
 * `Idempotency-Key` of every operation that takes one: a request that is sent again is done once. What the keys and the
 * kept answers are is in idempotency.test.ts and idempotency-lifetime.test.ts.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import { allOperations, isRepeatable } from '../../src/contract/operations.ts';
import { startTestApp } from '../support/app.ts';
import { expectReplay, freshKey, isReplayed, said, under } from '../support/idempotency.ts';
import { sampleOf, send } from '../support/requests.ts';

const app = await startTestApp();
afterAll(() => app[Symbol.asyncDispose]());

describe.each(allOperations.filter(isRepeatable))('$operationId', (operation) => {
  test('the same request with the same key gets the same response, and is done once', async () => {
    const sample = await sampleOf(app, operation);
    const key = freshKey();
    const first = await send(app, sample, under(key));
    expect(first.status).toBeLessThan(300);
    for (const again of [key, `"${key}"`]) {
      const answer = await send(app, sample, under(again));
      expectReplay(answer, first);
    }
  });

  test('many at the same time are done once: one answer, or a 409 that says to retry', async () => {
    const sample = await sampleOf(app, operation);
    const key = freshKey();
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(app, sample, under(key))));
    const done = answers.filter(({ status }) => status < 300);
    expect(new Set(done.map((answer) => JSON.stringify(said(answer)))).size).toBe(1);
    expect(done.filter((answer) => isReplayed(answer) === null)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status >= 300)) {
      expect([answer.error.code, answer.header('Retry-After')]).toEqual(['idempotency_key_in_use', '1']);
    }
  });

  test('422 idempotency_key_reused for another path with the same key', async () => {
    const [one, other] = [await sampleOf(app, operation), await sampleOf(app, operation)];
    const key = freshKey();
    await send(app, one, under(key));
    const body = other.options.body === undefined ? '{}' : ` ${other.options.body}`;
    const answer = await send(app, other, under(key, { body }));
    expect(answer.error).toMatchObject({ status: 422, code: 'idempotency_key_reused' });
    expect((await send(app, other, under(freshKey()))).status).toBeLessThan(300);
  });

  test('a refusal is not kept: the key may be used again', async () => {
    const sample = await sampleOf(app, operation);
    const key = freshKey();
    const refused = await send(app, { ...sample, target: `${sample.target}?x=1` }, under(key));
    expect(refused.status).toBe(400);
    const answer = await send(app, sample, under(key));
    expect(answer.status).toBeLessThan(300);
    expect(isReplayed(answer)).toBeNull();
  });
});
