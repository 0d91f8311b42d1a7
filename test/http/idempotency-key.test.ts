/** Parsing of `Idempotency-Key` headers as sent by client libraries, curl users and attackers. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { operations } from '../../src/contract/operations.ts';
import { readIdempotencyKey } from '../../src/http/pipeline/idempotency.ts';
import { startAppForFile } from '../support/app.ts';
import { buyerOf } from '../support/orders.ts';
import { newPet } from '../support/pets.ts';
import { always } from '../support/property.ts';
import { exchange } from '../support/raw.ts';

const app = await startAppForFile();
const { key } = await buyerOf(app);

/** The parsed header value. Null if the header is rejected. */
function read(value: string | undefined): string | null | undefined {
  const headers = new Headers(value === undefined ? {} : { 'Idempotency-Key': value });
  const checked = readIdempotencyKey(operations.placeOrder, headers);
  return 'value' in checked ? checked.value : null;
}

const blamed = '"in":"header","name":"Idempotency-Key"';

describe('the parsed Idempotency-Key', () => {
  test.each([
    ['8e03978e-40d5-43dd-bc93-6894a57f9324', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
    ['"x"', 'x'],
    ['x"', 'x"'],
    ['x'.repeat(255), 'x'.repeat(255)],
    [`"${'x'.repeat(255)}"`, 'x'.repeat(255)],
    [`"${'\\"'.repeat(255)}"`, '"'.repeat(255)],
    ['"a\\"b\\\\c"', 'a"b\\c'],
    ['W/x', 'W/x'],
    [' x\t', 'x'],
  ])('is correct for the value %s', (value, expected) => {
    expect(read(value)).toBe(expected);
  });

  test('is undefined if the header is missing', () => {
    expect(read(undefined)).toBeUndefined();
  });

  test('is the original text if visible ASCII was quoted with escapes', () => {
    const visible = fc.string({
      unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
      minLength: 1,
      maxLength: 255,
    });
    always(visible, (text) => {
      expect(read(`"${text.replace(/["\\]/g, '\\$&')}"`)).toBe(text);
      if (!text.startsWith('"')) expect(read(text)).toBe(text);
    });
  });
});

describe('an Idempotency-Key is rejected', () => {
  test.each([
    ['if it is empty', ''],
    ['if it has 256 escaped characters', `"${'\\\\'.repeat(256)}"`],
    ['if it contains a tab', 'two\twords'],
    ['if it contains an unescaped quote', '"x"y"'],
    ['if a parameter follows it', '"x";a=1'],
    ['if it is a list', '"x", "y"'],
    ['if it was sent twice', 'x, x'],
    ['if it contains DEL', 'x\x7f'],
    ['if it is as long as a request head allows', 'x'.repeat(15_000)],
    ['if it is as long as a request head allows, and consists of backslashes', `"${'\\'.repeat(15_000)}`],
  ])('%s', (_, value) => {
    expect(read(value)).toBeNull();
  });

  test('with a response that also lists all other errors in the request', async () => {
    const headers = { 'Idempotency-Key': 'two words', 'If-Match': 'bare' };
    const answer = await app.call('POST', '/orders/1/approve?force=1', { key, body: '{"x":1}', headers });
    expect(answer.error.code).toBe('invalid_parameter');
    expect(answer.error.details?.map(({ name }) => name).sort()).toEqual([
      'Idempotency-Key',
      'If-Match',
      'force',
      'x',
    ]);
  });
});

/** Sends a create request with these raw header lines, which fetch cannot send. Returns the response. */
async function raw(lines: string) {
  const body = newPet();
  const [answer] = await exchange(
    app.url,
    `POST /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${body.length}\r\n${lines}Connection: close\r\n\r\n${body}`,
  );
  return answer;
}

describe('an Idempotency-Key header', () => {
  test.each([
    ['sent twice with the same value', 'Idempotency-Key: x\r\nIdempotency-Key: x\r\n'],
    ['sent twice, once without a value', 'Idempotency-Key: x\r\nIdempotency-Key:\r\n'],
    ['empty', 'Idempotency-Key:\r\n'],
    ['not ASCII', 'Idempotency-Key: cl\xc3\xa9\r\n'],
    ['not valid UTF-8', 'Idempotency-Key: \xff\xfe\r\n'],
  ])('is rejected if it is %s', async (_, lines) => {
    const answer = await raw(lines);
    expect(answer?.status).toBe(400);
    expect(answer?.body).toContain(blamed);
  });

  test('is trimmed before it is used', async () => {
    expect((await raw('Idempotency-Key: \t spaced \t\r\n'))?.status).toBe(201);
    expect((await raw('idempotency-KEY:spaced\r\n'))?.headers.get('idempotent-replayed')).toBe('true');
  });
});
