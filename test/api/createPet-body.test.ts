import { afterAll, describe, expect, test } from 'bun:test';
import { maxBodyBytes } from '../../src/contract/bounds.ts';
import { maxJsonDepth } from '../../src/contract/json.ts';
import { startTestApp } from '../support/app.ts';
import type { CallOptions } from '../support/call.ts';
import { faulty, newPet } from '../support/pets.ts';

const app = await startTestApp();
afterAll(() => app[Symbol.asyncDispose]());

const send = (options: CallOptions) => app.call('POST', '/pets', options);
const utf8 = (text: string) => new TextEncoder().encode(text);

/** A valid animal of exactly that many bytes, by white space after it. */
const bodyOf = (bytes: number) => newPet().padEnd(bytes, ' ');

/** The same bytes in chunks, so that no Content-Length goes with them. */
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
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json; charset="utf-8"',
    'application/json ; profile="x"; charset=utf-8',
    'application/json;',
  ])('takes the media type %s', async (type) => {
    expect((await send({ type, body: newPet() })).status).toBe(201);
  });

  test('takes a body of 16384 bytes, with its length and in chunks', async () => {
    expect(maxBodyBytes).toBe(16_384);
    expect((await send({ body: bodyOf(maxBodyBytes) })).status).toBe(201);
    expect((await send({ body: chunked(bodyOf(maxBodyBytes)) })).status).toBe(201);
  });

  test('takes white space around the object, and characters cut apart by chunks', async () => {
    expect((await send({ body: `\r\n\t ${newPet()} \n` })).status).toBe(201);
    expect((await send({ body: chunked(newPet('🐈é'), 1) })).json).toMatchObject({ name: '🐈é' });
  });
});

describe('400', () => {
  test.each([
    ['with Content-Type and nothing', { body: '' }],
    ['without Content-Type', {}],
    ['with Content-Length 0 and no Content-Type', { body: '', type: null }],
    ['in no chunks', { body: chunked('') }],
  ])('invalid_body when the body is missing: %s', async (_, options: CallOptions) => {
    const answer = await send(options);
    expect(answer.error).toMatchObject({ status: 400, code: 'invalid_body' });
    expect(answer.error.message).toContain('missing');
  });

  const cutOff = ['{', '{"name"', '{"name":"Ozzy","categoryId":1', '"Ozzy', 'tru'];
  const notJson = [
    "{'name':'Ozzy'}",
    '{"name":"Ozzy","categoryId":1,}',
    '{name:"Ozzy"}',
    '// x\n{}',
    '{"a":1}{}',
  ];
  const notNumbers = ['01', '+1', '.5', '1.', 'NaN', 'Infinity', '-', '0x1', '1_000', '1n', '1e'];
  test.each([' ', '\n', 'undefined', ...cutOff, ...notJson, ...notNumbers.map((text) => newPet('x', text))])(
    'invalid_json when the body is no JSON: %s',
    async (body) => {
      const answer = await send({ body });
      expect(answer.error).toMatchObject({ status: 400, code: 'invalid_json' });
    },
  );

  test('invalid_json when a string has a raw control character', async () => {
    for (const character of ['\n', '\t', '\0']) {
      const answer = await send({ body: `{"name":"a${character}b","categoryId":1}` });
      expect(answer.error).toMatchObject({ status: 400, code: 'invalid_json' });
    }
  });

  test('invalid_json when a byte order mark comes first', async () => {
    const answer = await send({ body: `\ufeff${newPet()}` });
    expect(answer.error).toMatchObject({ status: 400, code: 'invalid_json' });
  });

  test.each([
    ['a stray byte', [0xff]],
    ['a continuation byte alone', [0x80]],
    ['an overlong slash', [0xc0, 0xaf]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['a code point beyond the last', [0xf4, 0x90, 0x80, 0x80]],
    ['a character cut off', [0xe2, 0x82]],
  ])('invalid_json when the body is not UTF-8: %s', async (_, bytes) => {
    const body = new Uint8Array([...utf8('{"name":"'), ...bytes, ...utf8('","categoryId":1}')]);
    const answer = await send({ body });
    expect(answer.error).toMatchObject({ status: 400, code: 'invalid_json' });
    expect(answer.error.message).toContain('UTF-8');
  });

  test('invalid_json when it is UTF-16', async () => {
    const body = new Uint8Array(Buffer.from(newPet(), 'utf16le'));
    expect((await send({ body })).error).toMatchObject({ status: 400, code: 'invalid_json' });
  });

  test('names the mistake in JSON that is nested too deep, as deep as a body can be', async () => {
    for (const depth of [maxJsonDepth + 1, 8_000]) {
      const answer = await send({ body: '['.repeat(depth) + ']'.repeat(depth) });
      expect(answer.error).toMatchObject({ status: 400, code: 'invalid_json' });
      expect(answer.error.message).toContain('nested');
    }
    expect((await send({ body: '['.repeat(16_000) })).error.code).toBe('invalid_json');
    const deepest = await send({ body: '['.repeat(maxJsonDepth) + ']'.repeat(maxJsonDepth) });
    expect(deepest.error.code).toBe('invalid_body');
  });

  test('lists mistakes in the query and in the body at once', async () => {
    const answer = await app.call('POST', '/pets?dry=1', { body: '{"name":"","categoryId":1}' });
    expect(answer.error.status).toBe(400);
    expect(faulty(answer)).toEqual(['query:dry', 'body:name']);
  });

  test('adds nothing', async () => {
    await using fresh = await startTestApp();
    for (const body of ['', '{', '{}', newPet(''), `\ufeff${newPet()}`])
      await fresh.call('POST', '/pets', { body });
    expect((await fresh.call('GET', '/pets')).text).toBe('[]');
  });
});

describe('413 body_too_large', () => {
  test('for 16385 bytes, by their declared length and in chunks', async () => {
    const body = bodyOf(maxBodyBytes + 1);
    for (const options of [{ body }, { body: chunked(body) }, { body: chunked(body, 20_000) }]) {
      expect((await send(options)).error).toMatchObject({ status: 413, code: 'body_too_large' });
    }
  });

  test('for many megabytes, and the service goes on', async () => {
    const answer = await send({ body: bodyOf(8_000_000) });
    expect(answer.error.code).toBe('body_too_large');
    expect((await send({ body: newPet() })).status).toBe(201);
  });
});

describe('415 unsupported_media_type', () => {
  const otherTypes = ['text/plain', 'text/json', 'application/xml', 'application/x-www-form-urlencoded'];
  const almost = [
    'application/jsonp',
    'application/json-patch+json',
    'application/problem+json',
    'json',
    '*/*',
  ];
  const lists = [
    'application/json, application/json',
    'application/json, text/plain',
    'application/json text/plain',
  ];
  const charsets = ['latin1', 'iso-8859-1', 'utf-16', '"utf-16"', 'utf-8x', 'utf8', ''];
  test.each([
    ...[...otherTypes, ...almost, ...lists],
    ...charsets.map((charset) => `application/json; charset=${charset}`),
    'application/json; charset=utf-8; charset=latin1',
  ])('for the media type %s', async (type) => {
    const answer = await send({ type, body: newPet() });
    expect(answer.error).toMatchObject({ status: 415, code: 'unsupported_media_type' });
  });

  test('for a body without a media type', async () => {
    const answer = await send({ type: null, body: newPet() });
    expect(answer.error).toMatchObject({ status: 415, code: 'unsupported_media_type' });
    expect((await send({ type: null, body: chunked(newPet()) })).status).toBe(415);
  });

  const compressed = { body: Bun.gzipSync(utf8(newPet())) };
  test.each(['gzip', 'GZIP', 'x-gzip', 'deflate', 'br', 'zstd', 'gzip, identity', 'aws-chunked', 'x'])(
    'for a body compressed by %s, saying what is taken instead (RFC 9110 sections 8.4 and 12.5.3)',
    async (coding) => {
      const answer = await send({ ...compressed, headers: { 'Content-Encoding': coding } });
      expect(answer.error).toMatchObject({ status: 415, code: 'unsupported_media_type' });
      expect(faulty(answer)).toEqual(['header:Content-Encoding']);
      expect(answer.error.details?.[0]?.message).toContain('uncompressed');
      expect(answer.header('Accept-Encoding')).toBe('identity');
    },
  );

  test('lists media type and coding at once', async () => {
    const answer = await send({
      ...compressed,
      type: 'text/plain',
      headers: { 'Content-Encoding': 'gzip' },
    });
    expect(faulty(answer)).toEqual(['header:Content-Type', 'header:Content-Encoding']);
  });

  test('names no coding where the media type alone is at fault', async () => {
    const answer = await send({ type: 'text/plain', body: newPet() });
    expect(faulty(answer)).toEqual(['header:Content-Type']);
    expect(answer.headers.has('Accept-Encoding')).toBe(false);
  });

  test('not for the coding identity, which is none', async () => {
    for (const coding of ['identity', 'Identity', '']) {
      const answer = await send({ body: newPet(), headers: { 'Content-Encoding': coding } });
      expect(answer.status).toBe(201);
    }
  });

  test('comes before the size and the content are checked', async () => {
    for (const body of ['{', bodyOf(maxBodyBytes + 1)]) {
      expect((await send({ type: 'text/plain', body })).status).toBe(415);
    }
  });
});
