/** Request bodies: Content-Type, Content-Encoding, sizes, JSON and invalid members. */
import { describe, expect, test } from 'bun:test';
import { maxBodyBytes } from '../../src/contract/bounds.ts';
import { maxJsonDepth } from '../../src/contract/json.ts';
import { startAppForFile } from '../support/app.ts';
import type { CallOptions } from '../support/call.ts';
import { faulty, newPet } from '../support/pets.ts';

const app = await startAppForFile();

const send = (options: CallOptions) => app.call('POST', '/pets', options);
const utf8 = (text: string) => new TextEncoder().encode(text);

/** A valid animal, padded with whitespace to this number of bytes. */
const bodyOf = (bytes: number) => newPet().padEnd(bytes, ' ');

/** The same bytes in chunks, without a Content-Length. */
function chunked(text: string, chunkBytes = 1_000): ReadableStream<Uint8Array> {
  const bytes = utf8(text);
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      if (sent >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(sent, sent + chunkBytes));
      sent += chunkBytes;
    },
  });
}

describe('201', () => {
  test.each([
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json; charset=utf8',
    'application/json;charset="UTF8"',
    'application/json ; profile="x"; charset=utf-8',
    'application/json;',
  ])('is returned for the media type %s', async (type) => {
    expect((await send({ type, body: newPet() })).status).toBe(201);
  });

  test('is returned for a body of 16384 bytes, with Content-Length or in chunks', async () => {
    expect(maxBodyBytes).toBe(16_384);
    expect((await send({ body: bodyOf(maxBodyBytes) })).status).toBe(201);
    expect((await send({ body: chunked(bodyOf(maxBodyBytes)) })).status).toBe(201);
  });

  test('is returned for `Content-Encoding: identity`', async () => {
    for (const coding of ['identity', 'Identity', '']) {
      expect((await send({ body: newPet(), headers: { 'Content-Encoding': coding } })).status).toBe(201);
    }
  });
});

describe('400', () => {
  test.each([
    ['with Content-Type and nothing', { body: '' }],
    ['without Content-Type', {}],
    ['with Content-Length 0 and no Content-Type', { body: '', type: null }],
    ['in no chunks', { body: chunked('') }],
  ])('with invalid_body is returned if the body is missing: %s', async (_, options: CallOptions) => {
    const answer = await send(options);
    expect(answer.error).toMatchObject({ status: 400, code: 'invalid_body' });
    expect(answer.error.message).toContain('missing');
  });

  test('with invalid_json mentions UTF-8 if the body has another encoding', async () => {
    const body = Uint8Array.of(...utf8('{"name":"'), 0xff, ...utf8('","categoryId":1}'));
    const { error } = await send({ body });
    expect([error.code, error.message]).toEqual(['invalid_json', expect.stringContaining('UTF-8')]);
  });

  test('with invalid_json states the maximum depth if the JSON is nested too deeply', async () => {
    for (const depth of [maxJsonDepth + 1, 8_000]) {
      const answer = await send({ body: '['.repeat(depth) + ']'.repeat(depth) });
      expect(answer.error).toMatchObject({ status: 400, code: 'invalid_json' });
      expect(answer.error.message).toContain('nested');
    }
    const deepest = await send({ body: '['.repeat(maxJsonDepth) + ']'.repeat(maxJsonDepth) });
    expect(deepest.error.code).toBe('invalid_body');
  });
});

describe('400 invalid_body', () => {
  /** Expects errors for exactly these members, and returns the message. */
  async function messageFor(body: string, names: readonly string[]): Promise<string> {
    const answer = await send({ body });
    expect(answer.error).toMatchObject({ status: 400, code: 'invalid_body' });
    expect(faulty(answer).sort()).toEqual(names.map((name) => `body:${name}`).sort());
    return answer.error.message;
  }

  test.each([
    ['name', '"a\\u007fb"', 'control characters'],
    ['name', '"\\ud83dx"', 'surrogate'],
    ['name', '["Ozzy"]', 'must be a string'],
    ['categoryId', '"1"', 'must be an integer'],
    ['status', '"Sold"', '"available", "pending", "sold"'],
  ])('names the invalid member in %s: %s', async (name, value, message) => {
    const members = { name: '"Ozzy"', categoryId: '1', status: '"sold"', [name]: value };
    const body = Object.entries(members).map(([member, text]) => `"${member}":${text}`);
    expect(await messageFor(`{${body.join()}}`, [name])).toContain(message);
  });

  test.each([
    [
      '{"name":"","categoryId":"1","status":"lost","id":1,"colour":"red"}',
      ['name', 'categoryId', 'status', 'id', 'colour'],
    ],
    ['{"__proto__":1,"name":""}', ['__proto__', 'name', 'categoryId']],
    ['{"name":"a","name":"b","categoryId":"1","colour":1}', ['name', 'categoryId', 'colour']],
    ['{"name":{"name":1,"name":2},"categoryId":1}', ['name', 'name']],
    ['{"other":{"a":1,"a":2},"name":"Ozzy"}', ['a', 'other', 'categoryId']],
    ['[{"a":1,"a":2}]', ['a', '']],
  ])('lists all errors in %s', async (body, names) => {
    await messageFor(body, names);
  });

  test('reports a duplicate member without validating its values, and also reports query errors', async () => {
    const body = '{"name":"","name":"Ozzy","categoryId":1}';
    const { error } = await app.call('POST', '/pets?dry=1', { body });
    expect(error.details).toEqual([
      expect.objectContaining({ in: 'query', name: 'dry' }),
      { in: 'body', name: 'name', message: 'is given more than once' },
    ]);
  });
});

describe('413 body_too_large', () => {
  test('is returned for 16385 bytes, with Content-Length or in chunks', async () => {
    const body = bodyOf(maxBodyBytes + 1);
    for (const options of [{ body }, { body: chunked(body) }, { body: chunked(body, 20_000) }]) {
      expect((await send(options)).error).toMatchObject({ status: 413, code: 'body_too_large' });
    }
  });

  test('is returned for a body of many megabytes, and the service keeps working', async () => {
    expect((await send({ body: bodyOf(8_000_000) })).error.code).toBe('body_too_large');
    expect((await send({ body: newPet() })).status).toBe(201);
  });
});

describe('415 unsupported_media_type', () => {
  const charsets = ['"utf-16"', 'utf81', '', 'utf-8; charset=latin1'];
  test.each([
    'application/json text/plain',
    ...charsets.map((charset) => `application/json; charset=${charset}`),
  ])('is returned for the media type %s', async (type) => {
    const answer = await send({ type, body: newPet() });
    expect(answer.error).toMatchObject({ status: 415, code: 'unsupported_media_type' });
    expect(answer.headers.has('Accept-Encoding')).toBe(false);
  });

  const compressed = { body: Bun.gzipSync(utf8(newPet())) };
  test.each(['gzip', 'GZIP', 'br', 'gzip, identity', 'x'])(
    'is returned for Content-Encoding: %s, with an Accept-Encoding header (RFC 9110, sections 8.4 and 12.5.3)',
    async (coding) => {
      const answer = await send({ ...compressed, headers: { 'Content-Encoding': coding } });
      expect(answer.error).toMatchObject({ status: 415, code: 'unsupported_media_type' });
      expect(faulty(answer)).toEqual(['header:Content-Encoding']);
      expect(answer.error.details?.[0]?.message).toContain('uncompressed');
      expect(answer.header('Accept-Encoding')).toBe('identity');
    },
  );

  test('reports Content-Type and Content-Encoding errors in one response', async () => {
    const headers = { 'Content-Encoding': 'gzip' };
    const answer = await send({ ...compressed, type: 'text/plain', headers });
    expect(faulty(answer)).toEqual(['header:Content-Type', 'header:Content-Encoding']);
  });
});

test('415 is returned for an optional body of another media type, even if it is too large', async () => {
  const approve = (options: CallOptions) => app.call('POST', '/orders/1/approve', options);
  for (const type of [null, 'text/plain'])
    for (const body of [chunked('{}'), chunked(bodyOf(maxBodyBytes + 1)), chunked(bodyOf(200_000), 20_000)])
      expect((await approve({ type, body })).error.code).toBe('unsupported_media_type');
  expect((await approve({ body: chunked(bodyOf(maxBodyBytes + 1)) })).error.code).toBe('body_too_large');
});
