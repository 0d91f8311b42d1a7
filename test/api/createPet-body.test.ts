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

/** A valid animal padded with white space to that many bytes. */
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
    'application/json ; profile="x"; charset=utf-8',
    'application/json;',
  ])('for the media type %s', async (type) => {
    expect((await send({ type, body: newPet() })).status).toBe(201);
  });

  test('for a body of 16384 bytes, with its length and in chunks', async () => {
    expect(maxBodyBytes).toBe(16_384);
    expect((await send({ body: bodyOf(maxBodyBytes) })).status).toBe(201);
    expect((await send({ body: chunked(bodyOf(maxBodyBytes)) })).status).toBe(201);
  });

  test('for white space around the object, and characters cut apart by chunks', async () => {
    expect((await send({ body: `\r\n\t ${newPet()} \n` })).status).toBe(201);
    expect((await send({ body: chunked(newPet('🐈é'), 1) })).json).toMatchObject({ name: '🐈é' });
  });

  test('for the coding identity', async () => {
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
  ])('invalid_body when the body is missing: %s', async (_, options: CallOptions) => {
    const answer = await send(options);
    expect(answer.error).toMatchObject({ status: 400, code: 'invalid_body' });
    expect(answer.error.message).toContain('missing');
  });

  test.each([
    ...[' ', 'undefined', '{', '{"name":"Ozzy","categoryId":1', '"Ozzy', "{'name':'Ozzy'}", '// x\n{}'],
    ...['{"name":"Ozzy","categoryId":1,}', '{name:"Ozzy"}', '{"a":1}{}', `\ufeff${newPet()}`],
    ...['01', '+1', '.5', '1.', 'NaN', '0x1', '1_000', '1e'].map((text) => newPet('x', text)),
    ...['\n', '\t', '\0'].map((character) => `{"name":"a${character}b","categoryId":1}`),
  ])('invalid_json when the body is no JSON: %j', async (body) => {
    expect((await send({ body })).error).toMatchObject({ status: 400, code: 'invalid_json' });
  });

  test.each([
    ['a stray byte', [0xff]],
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

  test('invalid_json when the body is UTF-16', async () => {
    const body = new Uint8Array(Buffer.from(newPet(), 'utf16le'));
    expect((await send({ body })).error).toMatchObject({ status: 400, code: 'invalid_json' });
  });

  test('invalid_json, naming the depth, for JSON that is nested too deep', async () => {
    for (const depth of [maxJsonDepth + 1, 8_000]) {
      const answer = await send({ body: '['.repeat(depth) + ']'.repeat(depth) });
      expect(answer.error).toMatchObject({ status: 400, code: 'invalid_json' });
      expect(answer.error.message).toContain('nested');
    }
    const deepest = await send({ body: '['.repeat(maxJsonDepth) + ']'.repeat(maxJsonDepth) });
    expect(deepest.error.code).toBe('invalid_body');
  });

  test('adds nothing', async () => {
    await using fresh = await startTestApp();
    for (const body of ['', '{', '{}', newPet('')]) await fresh.call('POST', '/pets', { body });
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

  test('for many megabytes, after which the service serves on', async () => {
    expect((await send({ body: bodyOf(8_000_000) })).error.code).toBe('body_too_large');
    expect((await send({ body: newPet() })).status).toBe(201);
  });
});

describe('415 unsupported_media_type', () => {
  const charsets = ['latin1', 'utf-16', '"utf-16"', 'utf-8x', 'utf8', '', 'utf-8; charset=latin1'];
  test.each([
    ...['text/plain', 'text/json', 'application/x-www-form-urlencoded', 'application/jsonp', '*/*'],
    ...['application/json-patch+json', 'application/json, text/plain', 'application/json text/plain'],
    ...charsets.map((charset) => `application/json; charset=${charset}`),
  ])('for the media type %s', async (type) => {
    const answer = await send({ type, body: newPet() });
    expect(answer.error).toMatchObject({ status: 415, code: 'unsupported_media_type' });
    expect(faulty(answer)).toEqual(['header:Content-Type']);
    expect(answer.headers.has('Accept-Encoding')).toBe(false);
  });

  test('for a body without a media type', async () => {
    for (const body of [newPet(), chunked(newPet())]) {
      expect((await send({ type: null, body })).error.code).toBe('unsupported_media_type');
    }
  });

  const compressed = { body: Bun.gzipSync(utf8(newPet())) };
  test.each(['gzip', 'GZIP', 'br', 'gzip, identity', 'x'])(
    'for a body compressed by %s, naming what is accepted (RFC 9110 sections 8.4 and 12.5.3)',
    async (coding) => {
      const answer = await send({ ...compressed, headers: { 'Content-Encoding': coding } });
      expect(answer.error).toMatchObject({ status: 415, code: 'unsupported_media_type' });
      expect(faulty(answer)).toEqual(['header:Content-Encoding']);
      expect(answer.error.details?.[0]?.message).toContain('uncompressed');
      expect(answer.header('Accept-Encoding')).toBe('identity');
    },
  );

  test('lists media type and coding at once', async () => {
    const headers = { 'Content-Encoding': 'gzip' };
    const answer = await send({ ...compressed, type: 'text/plain', headers });
    expect(faulty(answer)).toEqual(['header:Content-Type', 'header:Content-Encoding']);
  });
});
