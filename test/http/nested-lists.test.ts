/** Lists below a resource. Those of the contract belong to accounts, and are not cached. */
import { expect, test } from 'bun:test';
import { type Operation, operations } from '../../src/contract/operations.ts';
import { versionsFrom } from '../../src/domain/resources.ts';
import { successAnswer } from '../../src/http/pipeline/answers.ts';
import { PageCache } from '../../src/http/pipeline/page-cache.ts';

const nested: Operation = {
  ...operations.listPets,
  path: '/categories/{categoryId}/pets',
  params: operations.getCategory.params,
};
const result = { status: 200, body: '[]', location: undefined, next: 'abc', isReplayed: false } as const;
const answer = successAnswer(nested, { limit: 20 }, result, { base: '/v1', params: { categoryId: -7n } });

test('links name the resource', () => {
  expect(answer.headers.Link).toBe(
    '</v1/categories/-7/pets?limit=20&cursor=abc>; rel="next", </v1/categories/-7/pets?limit=20>; rel="first"',
  );
});

test('pages are cached by their target', () => {
  const cache = new PageCache();
  const versions = versionsFrom(() => 1);
  cache.keep(nested, '/v1/categories/7/pets', versions, answer);
  expect(cache.get(nested, '/v1/categories/7/pets', versions)).toBeDefined();
  expect(cache.get(nested, '/v1/categories/8/pets', versions)).toBeUndefined();
  expect(cache.get(nested, '/v1/categories/7/pets', { ...versions, pets: 2 })).toBeUndefined();
  cache.keep(operations.getCategory, '/v1/categories/7', versions, answer);
  expect(cache.get(operations.getCategory, '/v1/categories/7', versions)).toBeUndefined();
});
