/** Limits on a receiver's response, and when its connection can be reused. */
import { describe, expect, test } from 'bun:test';
import { ResponseReader } from '../../src/webhooks/response-reader.ts';

const ok = 'HTTP/1.1 200 OK\r\n';
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`;
const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';

/** Reads a response that arrives in these pieces. */
function readAll(...pieces: string[]): ResponseReader {
  const reader = new ResponseReader();
  for (const piece of pieces) if (!reader.isDone) reader.read(Buffer.from(piece, 'latin1'));
  return reader;
}

/** The number of one-byte reads until the reader is done. */
function readsUntilDone(begin: string, unit: string): number {
  const reader = new ResponseReader();
  reader.read(Buffer.from(begin));
  for (let read = 1; ; read++) {
    if (reader.isDone) return read;
    if (read > 100_000) return Number.POSITIVE_INFINITY;
    reader.read(Buffer.from(unit[read % unit.length] ?? ''));
  }
}

/** Parts of a response that a receiver can repeat without end. */
const endless = [
  ['interim responses', '', hints],
  ['100 Continue', '', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ['empty lines', '', '\r\n'],
  ['garbage', '', 'a'],
  ['a header', `${ok}A: `, 'a'],
  ['headers', ok, 'A: b\r\n'],
  ['headers of an interim response', 'HTTP/1.1 103 Early Hints\r\n', 'A: b\r\n'],
  ['a body', `${ok}\r\n`, 'a'],
  ['a body with a huge length', `${ok}Content-Length: 999999999999\r\n\r\n`, 'a'],
  ['one-byte chunks', chunked, '1\r\na\r\n'],
  ['a huge chunk', `${chunked}fffffffffffff\r\n`, 'a'],
  ['a chunk size', chunked, '0'],
  ['a chunk extension', `${chunked}1;`, 'a'],
  ['trailers', `${chunked}0\r\n`, 'A: b\r\n'],
] as const;

describe.each(endless)('an endless response of %s', (_, begin, unit) => {
  test('stops the reader within 17 kB', () => {
    const reader = readAll(begin);
    const piece = unit.repeat(20);
    let bytes = 0;
    for (; !reader.isDone && bytes < 17_408; bytes += piece.length) reader.read(Buffer.from(piece));
    expect([reader.isDone, reader.isReusable]).toEqual([true, false]);
  });

  test('stops the reader after 1,000 reads', () => {
    expect(readsUntilDone(begin, unit)).toBeLessThanOrEqual(1_000);
  });
});

describe('a response', () => {
  test.each([0, 5])('after %d interim responses has the status of the final response', (count) => {
    const reader = readAll(`${hints.repeat(count)}${ok}Content-Length: 2\r\n\r\nok`);
    expect(reader.reply).toMatchObject({ status: 200, body: 'ok' });
  });

  test('after six interim responses is not read', () => {
    const reader = readAll(`${hints.repeat(6)}${ok}\r\n`);
    expect([reader.reply, reader.problem]).toEqual([
      undefined,
      'The receiver sent more than 5 interim responses.',
    ]);
  });

  test.each([
    ['at once', (text: string) => [text]],
    ['byte by byte', (text: string) => [...text]],
  ])('is the same if it arrives %s', (_, split) => {
    const text = `${hints}HTTP/1.1 503 \r\nretry-after:  9 \r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nab\r\n1\r\nc\r\n0\r\nT: u\r\n\r\n`;
    const reader = readAll(...split(text));
    expect(reader.reply).toEqual({ status: 503, retryAfter: '9', body: 'abc' });
    expect(reader.isReusable).toBe(true);
  });

  test.each([
    ['a length', `${ok}Content-Length: 2\r\n\r\nok`, true],
    ['a length of 0', `${ok}Content-Length: 0\r\n\r\n`, true],
    ['a length of 1,024', `${ok}Content-Length: 1024\r\n\r\n${'a'.repeat(1_024)}`, true],
    ['a length of 1,025', `${ok}Content-Length: 1025\r\n\r\n${'a'.repeat(1_025)}`, false],
    ['chunks', `${chunked}2\r\nok\r\n0\r\n\r\n`, true],
    ['no body', 'HTTP/1.1 204 No Content\r\n\r\n', true],
    ['line feeds only', 'HTTP/1.1 204 No Content\nA: b\n\n', true],
    ['more data than its length', `${ok}Content-Length: 2\r\n\r\nokay`, false],
    ['another response after it', `${ok}Content-Length: 0\r\n\r\n${ok}`, false],
    ['two lengths', `${ok}Content-Length: 2\r\nContent-Length: 2\r\n\r\nok`, false],
    ['a length and chunks', `${ok}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, false],
    ['another coding', `${ok}Transfer-Encoding: gzip, chunked\r\n\r\nok`, false],
    ['an invalid chunk', `${chunked}zz\r\n`, false],
    ['a chunk that is too long', `${chunked}2\r\nokay\r\n0\r\n\r\n`, false],
    ['an invalid header', `${ok}Content Length: 0\r\nContent-Length: 0\r\n\r\n`, false],
    ['a bare CR in a header', `${ok}A: b\rc\r\nContent-Length: 0\r\n\r\n`, false],
    ['a control character in the status line', 'HTTP/1.1 200 O\x01K\r\nContent-Length: 0\r\n\r\n', false],
    ['a bare CR in a trailer', `${chunked}0\r\nA: b\rc\r\n\r\n`, false],
    ['characters beyond ASCII in a header', `${ok}A: \x85\xa0b\r\nContent-Length: 0\r\n\r\n`, true],
    ['Connection: close', `${ok}Connection: close\r\nContent-Length: 0\r\n\r\n`, false],
    ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n', false],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\n\r\n', false],
  ])('with %s leaves the connection reusable: %#', (_, text, isReusable) => {
    const reader = readAll(text);
    expect([reader.reply === undefined, reader.isReusable]).toEqual([false, isReusable]);
  });

  test('has a Retry-After that is trimmed of spaces and tabs, but not of other whitespace', () => {
    const retryAfter = (field: string) => readAll(`${ok}${field}\r\n\r\n`).reply?.retryAfter;
    const fields = [
      'Retry-After: \t a \tb\t ',
      'Retry-After:\xa0 ',
      'Retry-After: \t',
      'Retry-After: a\rb',
      ': a',
    ];
    expect(fields.map(retryAfter)).toEqual(['a \tb', '\xa0', '', undefined, undefined]);
  });

  test('is not read if it is not HTTP/1.1', () => {
    for (const text of ['hello\r\n', 'HTTP/2 200\r\n', 'HTTP/1.1 2000 OK\r\n', 'SSH-2.0-a\r\n', '\r\n']) {
      expect([readAll(text).isDone, readAll(text).reply]).toEqual([true, undefined]);
    }
  });
});
