/**
 * Conditional requests (RFC 9110, section 13) to every operation that supports them. These tests complement
 * test/storage/every-operation.test.ts.
 */
import { describe, expect, test } from 'bun:test';
import { isRead } from '../../src/contract/operation.ts';
import { allOperations, hasEntityTag } from '../../src/contract/operations.ts';
import { scopes } from '../../src/domain/scope.ts';
import { startAppForFile } from '../support/app.ts';
import { type Sample, sampleOf, send } from '../support/requests.ts';

const app = await startAppForFile();

const withHeader = (name: string, value: string) => ({ headers: { [name]: value } });

describe.each(allOperations.filter((operation) => isRead(operation) && hasEntityTag(operation)))(
  '$operationId',
  (operation) => {
    test('returns 304 for GET and HEAD with the current ETag, with all other headers but without a body', async () => {
      const sample = await sampleOf(app, operation);
      const full = await send(app, sample);
      const etag = full.header('ETag');
      const names = (headers: Headers) =>
        [...headers.keys()].filter((name) => !/^(content-|date|transfer-)/.test(name)).sort();
      for (const tags of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const { status, text, headers } = await send(app, sample, withHeader('If-None-Match', tags));
        expect([tags, status, text]).toEqual([tags, 304, '']);
        expect(headers.get('etag')).toBe(etag);
        expect(names(headers)).toEqual(names(full.headers));
        const head = await app.call('HEAD', sample.target, withHeader('If-None-Match', tags));
        expect([head.status, head.header('ETag')]).toEqual([304, etag]);
      }
    });

    test('returns the same ETag for the same body, for every key of the account', async () => {
      const { account, key: own } = await app.tenant('free');
      const { key } = await app.operator.keys.create(account.id, 'other', undefined, scopes);
      const sample = await sampleOf(app, operation, own);
      expect((await send(app, sample, { key })).header('ETag')).toBe(
        (await send(app, sample, { key: own })).header('ETag'),
      );
    });
  },
);

/** Returns the ETag of the resource that the request changes. */
async function etagOf({ target }: Sample): Promise<string> {
  const answer = await app.call('GET', target.replace(/(\d)\/[\w-]+$/, '$1'));
  expect(answer.status).toBe(200);
  return answer.header('ETag');
}

describe.each(allOperations.filter(({ preconditions }) => preconditions !== undefined))(
  '$operationId',
  (operation) => {
    test('returns 412 precondition_failed for If-None-Match: * if the resource exists', async () => {
      const sample = await sampleOf(app, operation);
      const before = await etagOf(sample);
      const answer = await send(app, sample, withHeader('If-None-Match', '*'));
      expect(answer.error.code).toBe('precondition_failed');
      expect(await etagOf(sample)).toBe(before);
    });

    // The entity tag of a webhook does not cover its secret.
    if (operation.operationId === 'rotateWebhookSecret') return;
    test('lets only one of many concurrent changes with the current ETag succeed', async () => {
      const sample = await sampleOf(app, operation);
      app.clock.advance(1);
      const tag = withHeader('If-Match', await etagOf(sample));
      const answers = await Promise.all(Array.from({ length: 6 }, () => send(app, sample, tag)));
      const losing = operation.method === 'DELETE' ? 404 : 412;
      const statuses = answers.map(({ status }) => (status < 300 ? 'won' : status)).sort();
      expect(statuses).toEqual([...Array<number>(5).fill(losing), 'won']);
    });
  },
);
