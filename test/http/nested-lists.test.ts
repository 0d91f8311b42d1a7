/** Lists nested under a resource. The nested lists in the contract belong to accounts and are not cached. */
import { expect, test } from 'bun:test';
import type { Operation } from '../../src/contract/operation.ts';
import { operations } from '../../src/contract/operations.ts';
import { mapVersions } from '../../src/domain/resources.ts';
import { PageCache } from '../../src/http/pipeline/page-cache.ts';
import { successResponse } from '../../src/http/pipeline/plain-response.ts';

const nested: Operation = {
  ...operations.listPets,
  path: '/categories/{categoryId}/pets',
  params: operations.getCategory.params,
};
const result = { status: 200, body: '[]', location: undefined, next: 'abc', isReplayed: false } as const;
const answer = successResponse(nested, { limit: 20 }, result, { base: '/v1', params: { categoryId: -7n } });

test('the links of a nested list contain the id of the parent resource', () => {
  expect(answer.headers.Link).toBe(
    '</v1/categories/-7/pets?limit=20&cursor=abc>; rel="next", </v1/categories/-7/pets?limit=20>; rel="first"',
  );
});

test('links are short enough for proxies that limit response heads to 4 kB', () => {
  const id = Array.from({ length: 100 }, (_, index) => -9_223_372_036_854_775_000n - BigInt(index));
  const query = { limit: 100, id, minId: -(2n ** 63n), maxId: 2n ** 63n - 1n, status: 'available' };
  const { headers } = successResponse(operations.listPets, query, result, { base: '/v1' });
  expect(headers.Link?.length).toBeLessThan(3_072);
  expect(headers.Link).toMatch(/^<[^>]+&cursor=abc>; rel="next"$/);
});

const versions = mapVersions(() => 1);

/** Returns a function that requests a page from a new cache, and tells whether the page was read from the store. */
function newCache() {
  const cache = new PageCache();
  return (target: string, operation = nested, at = versions) => {
    let isRead = false;
    cache.getOrRead({ operation, target, versions: at }, undefined, () => {
      isRead = true;
      return { response: answer, span: undefined };
    });
    return isRead;
  };
}

test('the pages of a nested list are cached by request target, starting with the second request', () => {
  const reads = newCache();
  const page = '/v1/categories/7/pets';
  expect(reads(page)).toBe(true);
  // Not cached on the first request, because most pages are requested only once.
  expect(reads(page)).toBe(true);
  expect(reads(page)).toBe(false);
  expect(reads('/v1/categories/8/pets')).toBe(true);
  expect(reads(page, nested, { ...versions, pets: 2 })).toBe(true);
  const single = () => reads('/v1/categories/7', operations.getCategory);
  expect([single(), single(), single()]).toEqual([true, true, true]);
});

test('a page is not answered with the cached page of another target with the same hash', () => {
  const [one, other] = ['/v1/categories/34503/pets', '/v1/categories/110562/pets'] as const;
  expect(Bun.hash.xxHash32(one)).toBe(Bun.hash.xxHash32(other));
  const reads = newCache();
  expect([reads(one), reads(one), reads(one)]).toEqual([true, true, false]);
  expect([reads(other), reads(other), reads(one)]).toEqual([true, false, true]);
});
