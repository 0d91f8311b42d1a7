/**
 * Category behavior not covered by the random walk in `test/storage/every-operation.test.ts` or by
 * `every-mistake.test.ts`.
 */
import { expect, test } from 'bun:test';
import { startAppForFile, startTestApp } from '../support/app.ts';
import type { CallOptions } from '../support/call.ts';
import { linksOf, newPet, relative } from '../support/pets.ts';

const app = await startAppForFile();

const put = (id: number | string, more: CallOptions = {}, to = app) =>
  to.call('PUT', `/categories/${id}`, { body: '{"name":"Dogs"}', ...more });

test('any int64 can be the id of a category, and the list starts with the lowest id', async () => {
  await using fresh = await startTestApp();
  const ids = ['-9223372036854775808', '-12', '0', '9223372036854775807'];
  for (const id of ids.toReversed()) {
    expect((await put(id, {}, fresh)).text).toBe(`{"id":${id},"name":"Dogs"}`);
    expect((await fresh.call('GET', `/categories/${id}`)).text).toBe(`{"id":${id},"name":"Dogs"}`);
  }
  const seen: string[] = [];
  for (let next: string | undefined = '/categories?limit=1'; next !== undefined; ) {
    const page = await fresh.call('GET', next);
    seen.push(page.text);
    next = linksOf(page).next;
    if (next !== undefined) next = relative(next);
  }
  expect(seen).toEqual(ids.map((id) => `[{"id":${id},"name":"Dogs"}]`));
});

test('animals keep their category id, whether or not the category has a name', async () => {
  const { text } = await app.call('POST', '/pets', { body: newPet('Ozzy', '20') });
  expect((await app.call('GET', '/categories/20')).error.code).toBe('category_not_found');
  await put(20);
  expect((await app.call('GET', '/pets?categoryId=20')).text).toBe(`[${text}]`);
  expect((await app.call('DELETE', '/categories/20')).status).toBe(204);
  expect((await app.call('GET', '/pets?categoryId=20')).text).toBe(`[${text}]`);
  expect((await app.call('GET', '/inventory?categoryId=20')).json).toMatchObject({ available: 1n });
});

test('only one of 20 concurrent requests with If-None-Match: * creates the category, and the others get 412', async () => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      put(30, { body: `{"name":"Client ${n}"}`, headers: { 'If-None-Match': '*' } }),
    ),
  );
  const won = answers.filter(({ status }) => status === 201);
  expect(won).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 412)).toHaveLength(19);
  expect((await app.call('GET', '/categories/30')).text).toBe(won[0]?.text ?? '');
});

test('If-Match on a missing category gets 412 and does not create it', async () => {
  for (const tags of ['*', '"any"']) {
    expect((await put(40, { headers: { 'If-Match': tags } })).error.code).toBe('precondition_failed');
  }
  expect((await app.call('GET', '/categories/40')).status).toBe(404);
});
