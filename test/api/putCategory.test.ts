import { afterAll, describe, expect, test } from 'bun:test';
import { startTestApp } from '../support/app.ts';
import type { CallOptions } from '../support/call.ts';
import { faulty, newPet } from '../support/pets.ts';

const app = await startTestApp();
afterAll(() => app[Symbol.asyncDispose]());

const put = (id: string | number, body = '{"name":"Dogs"}', more: CallOptions = {}) =>
  app.call('PUT', `/categories/${id}`, { body, ...more });

describe('201 and 200', () => {
  test('201 when it is new, 200 when it has another name or the same', async () => {
    const answers = [await put(1), await put(1, '{"name":"Cats"}'), await put(1, '{"name":"Cats"}')];
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 200]);
    expect(answers.map(({ text }) => text)).toEqual([
      '{"id":1,"name":"Dogs"}',
      '{"id":1,"name":"Cats"}',
      '{"id":1,"name":"Cats"}',
    ]);
    expect((await app.call('GET', '/categories/1')).text).toBe('{"id":1,"name":"Cats"}');
  });

  test('201 again after it was removed', async () => {
    await put(2);
    await app.call('DELETE', '/categories/2');
    expect((await put(2)).status).toBe(201);
  });

  test.each(['0', '-1', '9223372036854775807', '-9223372036854775808'])(
    'takes any int64 as id, digit for digit: %s',
    async (id) => {
      expect((await put(id)).text).toBe(`{"id":${id},"name":"Dogs"}`);
      expect((await app.call('GET', `/categories/${id}`)).text).toBe(`{"id":${id},"name":"Dogs"}`);
    },
  );

  test('keeps a name exactly as it was sent, and two categories may have the same', async () => {
    for (const name of [' Ozzy ', 'Gänse 🦆', '"\\', 'é', '𝄞'.repeat(255)]) {
      for (const id of [10, 11]) {
        const text = `{"id":${id},"name":${JSON.stringify(name)}}`;
        expect((await put(id, JSON.stringify({ name }))).text).toBe(text);
        expect((await app.call('GET', `/categories/${id}`)).text).toBe(text);
      }
    }
  });

  test('does not change the animals that have the id', async () => {
    const { text } = await app.call('POST', '/pets', { body: newPet('Ozzy', '20') });
    await put(20);
    expect((await app.call('GET', '/pets?categoryId=20')).text).toBe(`[${text}]`);
  });

  test('201 for one of 20 concurrent requests with If-None-Match: *, 412 for the others', async () => {
    const headers = { 'If-None-Match': '*' };
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => put(30, `{"name":"Client ${n}"}`, { headers })),
    );
    const won = answers.filter(({ status }) => status === 201);
    expect(won).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 412)).toHaveLength(19);
    expect((await app.call('GET', '/categories/30')).text).toBe(won[0]?.text ?? '');
  });
});

describe('412 precondition_failed', () => {
  test('for If-Match on a category that does not exist, and none is made', async () => {
    for (const tags of ['*', '"any"']) {
      expect((await put(40, undefined, { headers: { 'If-Match': tags } })).error.code).toBe(
        'precondition_failed',
      );
    }
    expect((await app.call('GET', '/categories/40')).status).toBe(404);
  });
});

describe('400', () => {
  test.each(['x', '1.0', '01', '+1', '9223372036854775808', '%20'])(
    'invalid_parameter, blaming the path, for an id that no category can have: %s',
    async (id) => {
      const answer = await put(id);
      expect(answer.error).toMatchObject({ status: 400, code: 'invalid_parameter' });
      expect(faulty(answer)).toEqual(['path:categoryId']);
    },
  );

  test.each([
    ['{}', ['name']],
    ['{"name":" "}', ['name']],
    ['{"name":"a\\u0000"}', ['name']],
    ['{"name":"Dogs","id":50}', ['id']],
    ['[]', ['']],
  ])('invalid_body for %s, and nothing is changed', async (body, names) => {
    const answer = await put(50, body);
    expect(answer.error).toMatchObject({ status: 400, code: 'invalid_body' });
    expect(faulty(answer)).toEqual(names.map((name) => `body:${name}`));
    expect((await app.call('GET', '/categories/50')).status).toBe(404);
  });

  test('invalid_parameter with the mistakes of path, header and body at once', async () => {
    const answer = await put('x', '{}', { headers: { 'If-Match': 'none' } });
    expect(answer.error.code).toBe('invalid_parameter');
    expect(faulty(answer).sort()).toEqual(['body:name', 'header:If-Match', 'path:categoryId']);
  });
});
