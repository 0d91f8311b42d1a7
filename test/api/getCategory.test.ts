import { afterAll, describe, expect, test } from 'bun:test';
import { startTestApp } from '../support/app.ts';
import { newPet } from '../support/pets.ts';

const app = await startTestApp();
afterAll(() => app[Symbol.asyncDispose]());

test('200 is the category, members in the order id, name', async () => {
  await app.call('PUT', '/categories/7', { body: '{"name":"Dogs"}' });
  expect((await app.call('GET', '/categories/7')).text).toBe('{"id":7,"name":"Dogs"}');
});

test('200 shows a new name at once, even from another process', async () => {
  await app.call('PUT', '/categories/8', { body: '{"name":"Dogs"}' });
  for (const name of ['Cats', 'Birds']) {
    await app.call('GET', '/categories/8');
    await app.call('PUT', '/categories/8', { body: JSON.stringify({ name }) });
    expect((await app.call('GET', '/categories/8')).json).toEqual({ id: 8n, name });
  }
  await app.operator.storage.write('putCategory', {
    params: { categoryId: 8n },
    body: { name: 'Foreign' },
    preconditions: {},
    now: 0,
  });
  expect((await app.call('GET', '/categories/8')).json).toEqual({ id: 8n, name: 'Foreign' });
});

describe('404 category_not_found', () => {
  test('for the categoryId of an animal without a category of that id', async () => {
    await app.call('POST', '/pets', { body: newPet('Ozzy', '99') });
    expect((await app.call('GET', '/categories/99')).error.code).toBe('category_not_found');
  });

  test.each(['0', '-1', 'x', '01', '9223372036854775808', '%zz'])('for %s', async (id) => {
    expect((await app.call('GET', `/categories/${id}`)).error).toEqual({
      code: 'category_not_found',
      message: 'There is no category with this id.',
      status: 404,
    });
  });
});
