import { afterAll, expect, test } from 'bun:test';
import { startTestApp } from '../support/app.ts';
import { newPet } from '../support/pets.ts';

const app = await startTestApp();
afterAll(() => app[Symbol.asyncDispose]());

const put = (id: number) => app.call('PUT', `/categories/${id}`, { body: '{"name":"Dogs"}' });

test('204 without a body, and the category is gone', async () => {
  await put(1);
  await app.call('GET', '/categories');
  const answer = await app.call('DELETE', '/categories/1');
  expect([answer.status, answer.text]).toEqual([204, '']);
  expect((await app.call('GET', '/categories/1')).error.code).toBe('category_not_found');
  expect((await app.call('GET', '/categories')).text).not.toContain('"id":1,');
});

test('204 for one of many concurrent requests, 404 for the others', async () => {
  await put(2);
  const answers = await Promise.all(Array.from({ length: 10 }, () => app.call('DELETE', '/categories/2')));
  expect(answers.map(({ status }) => status).sort()).toEqual([204, ...Array(9).fill(404)]);
});

test('its animals keep their categoryId, are found by it, and are counted', async () => {
  await put(3);
  const { text } = await app.call('POST', '/pets', { body: newPet('Ozzy', '3') });
  await app.call('DELETE', '/categories/3');
  expect((await app.call('GET', '/pets?categoryId=3')).text).toBe(`[${text}]`);
  expect((await app.call('GET', '/inventory?categoryId=3')).json).toMatchObject({ available: 1n });
});

test.each(['999', 'x', '9223372036854775808'])(
  '404 category_not_found for %s, before the preconditions',
  async (id) => {
    const headers = { 'If-Match': '"other"' };
    expect((await app.call('DELETE', `/categories/${id}`, { headers })).error.code).toBe(
      'category_not_found',
    );
  },
);
