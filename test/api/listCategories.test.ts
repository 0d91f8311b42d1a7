import { afterAll, describe, expect, test } from 'bun:test';
import { writeCursor } from '../../src/contract/cursor.ts';
import { startTestApp } from '../support/app.ts';
import { faulty, linksOf, relative } from '../support/pets.ts';

const app = await startTestApp();
afterAll(() => app[Symbol.asyncDispose]());

// Ids are the clients' own: negative ones and the outermost among them.
const ids = [-(2n ** 63n), -12n, -1n, 0n, 1n, 2n, 10n, 2n ** 63n - 1n];
await Promise.all(
  ids.map((id) => app.call('PUT', `/categories/${id}`, { body: `{"name":"Category ${id}"}` })),
);

const idsOf = (json: unknown) => (json as { id: bigint }[]).map(({ id }) => id);

describe('200', () => {
  test('is an empty array without rel="next" in a new store', async () => {
    await using empty = await startTestApp();
    const answer = await empty.call('GET', '/categories');
    expect(answer.text).toBe('[]');
    expect(linksOf(answer)).toEqual({ first: '/v1/categories?limit=20' });
  });

  test('has the categories by ascending id, as a single one is shown', async () => {
    const { json, text } = await app.call('GET', '/categories');
    expect(idsOf(json)).toEqual(ids);
    const each = await Promise.all(ids.map((id) => app.call('GET', `/categories/${id}`)));
    expect(text).toBe(`[${each.map((one) => one.text).join(',')}]`);
  });

  test.each([1, 3, 8])('followed by its links at limit %i shows each exactly once', async (limit) => {
    const seen: bigint[] = [];
    for (let next: string | undefined = `/categories?limit=${limit}`; next !== undefined; ) {
      const answer = await app.call('GET', next);
      const page = idsOf(answer.json);
      expect(page.length).toBeGreaterThan(0);
      seen.push(...page);
      const link = linksOf(answer).next;
      next = link === undefined ? undefined : relative(link);
    }
    expect(seen).toEqual(ids);
  });

  test('shows a category as soon as it is put, renamed or removed', async () => {
    await using own = await startTestApp();
    const list = async () => (await own.call('GET', '/categories')).text;
    expect(await list()).toBe('[]');
    await own.call('PUT', '/categories/7', { body: '{"name":"Dogs"}' });
    expect(await list()).toBe('[{"id":7,"name":"Dogs"}]');
    await own.call('PUT', '/categories/7', { body: '{"name":"Cats"}' });
    expect(await list()).toBe('[{"id":7,"name":"Cats"}]');
    await own.call('DELETE', '/categories/7');
    expect(await list()).toBe('[]');
  });
});

describe('400', () => {
  test.each(['0', '101', 'ten'])('invalid_parameter for limit=%s', async (limit) => {
    expect(faulty(await app.call('GET', `/categories?limit=${limit}`))).toEqual(['query:limit']);
  });

  test('invalid_parameter for the filters of animals, naming both', async () => {
    expect(faulty(await app.call('GET', '/categories?status=sold&id=1')).sort()).toEqual([
      'query:id',
      'query:status',
    ]);
  });

  const foreign = writeCursor({ after: 1n, filters: 'sold' });
  test.each(['x', foreign])('invalid_cursor for one of another list: "%s"', async (cursor) => {
    expect((await app.call('GET', `/categories?cursor=${cursor}`)).error.code).toBe('invalid_cursor');
  });
});
