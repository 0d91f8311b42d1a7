/**
 * `Idempotency-Key` in concurrent requests to every operation that supports it. The random walk in
 * test/storage/every-operation.test.ts repeats requests one after the other.
 */
import { describe, expect, test } from 'bun:test';
import { allOperations, isRepeatable } from '../../src/contract/operations.ts';
import { startAppForFile } from '../support/app.ts';
import { freshKey, isReplayed, said, under } from '../support/idempotency.ts';
import { sampleOf, send } from '../support/requests.ts';

const app = await startAppForFile();

describe.each(allOperations.filter(isRepeatable))('$operationId', (operation) => {
  test('a request sent many times concurrently is applied exactly once, and every copy gets the same response or a 409 that says to retry', async () => {
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
});
