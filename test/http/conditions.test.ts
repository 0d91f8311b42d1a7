/** Parsing of the header fields of conditional requests (RFC 9110, section 13.1). */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { operations } from '../../src/contract/operations.ts';
import { isNotModified, readPreconditions } from '../../src/http/pipeline/conditions.ts';
import { always } from '../support/property.ts';

const headersOf = (fields: Readonly<Record<string, string>>) => new Headers(fields);

/** Entity tags parsed from an `If-Match` header. Null if the header is rejected. */
function ifMatch(value: string) {
  const checked = readPreconditions(operations.approveOrder, headersOf({ 'If-Match': value }));
  return 'value' in checked ? checked.value.ifMatch : null;
}

describe('If-Match', () => {
  test.each([
    ['*', '*'],
    [' * ', '*'],
    ['"a"', ['"a"']],
    ['""', ['""']],
    ['W/"a"', ['"a"']],
    // Suffixes that proxies add when they compress a response.
    ...['-gzip', ';gzip', '--gzip', '-br', '-zstd', '-deflate'].map((suffix): [string, string[]] => [
      `"a${suffix}", W/"b${suffix}"`,
      ['"a"', '"b"'],
    ]),
    ['"a-gzip-b", "a-zip"', ['"a-gzip-b"', '"a-zip"']],
    ['"a","b"', ['"a"', '"b"']],
    ['"a" ,\t"b" , W/"c"', ['"a"', '"b"', '"c"']],
    ['"a,b"', ['"a,b"']],
    ['"*"', ['"*"']],
    // A recipient has to ignore empty elements of a list (RFC 9110, section 5.6.1.2).
    ['"a",,"b"', ['"a"', '"b"']],
    [', "a" , ,"b",', ['"a"', '"b"']],
  ])('is parsed: %s', (value, expected) => {
    expect(ifMatch(value)).toEqual(expected as string[]);
  });

  test.each([
    ...['', ',', ' , ,', 'a', 'W/a', 'W/', '"', '"a', 'a"', 'w/"a"', 'W /"a"', '"a" "b"', '"a"b', '"a", b'],
    ...['"a", *', '*, "a"', '**', '"a b"', "'a'"],
  ])('is rejected: %s', (value) => {
    expect(ifMatch(value)).toBeNull();
  });

  test('is rejected in linear time', () => {
    const long = 15_000;
    const hostile = ['"', ',', '"a"', '"a",', 'W/', '"a" \t', '"a" ,'].map((part) =>
      part.repeat(Math.floor(long / part.length)),
    );
    for (const value of hostile) for (const end of ['', '"', 'x']) ifMatch(value + end);
  });

  test('is ignored by an operation that does not support it', () => {
    expect(readPreconditions(operations.placeOrder, headersOf({ 'If-Match': 'bare' }))).toEqual({
      value: {},
    });
  });
});

test('If-None-Match on a change that cannot create a resource is ignored unless it is "*"', () => {
  const read = (value: string) =>
    readPreconditions(operations.updatePet, headersOf({ 'If-None-Match': value }));
  expect(read('*')).toEqual({ value: { isNew: true } });
  expect(read('"a"')).toEqual({ value: {} });
});

describe('If-None-Match on a change', () => {
  const read = (value: string) =>
    readPreconditions(operations.putCategory, headersOf({ 'If-None-Match': value }));

  test('may be "*"', () => {
    for (const value of ['*', ' *\t']) expect(read(value)).toEqual({ value: { isNew: true } });
  });

  test.each(['', '"a"', '"*"', 'W/"a"', '*, *', 'new'])('is rejected with any other value: %s', (value) => {
    expect(read(value)).toMatchObject({ mistakes: [{ in: 'header', name: 'If-None-Match' }] });
  });

  test('is reported together with If-Match errors', () => {
    const headers = headersOf({ 'If-None-Match': 'a', 'If-Match': 'b' });
    const { mistakes } = readPreconditions(operations.putCategory, headers) as {
      mistakes: { name: string }[];
    };
    expect(mistakes.map(({ name }) => name)).toEqual(['If-Match', 'If-None-Match']);
  });
});

describe('If-None-Match on a read', () => {
  const has = (value: string, etag: string | undefined = '"a"') =>
    isNotModified(headersOf({ 'If-None-Match': value }), etag);

  test.each([
    '*',
    ' * ',
    '"a"',
    'W/"a"',
    '"b", "a"',
    '"b",W/"a"',
    '"a,b" , "a"',
    '"b",,"a"',
    '"a-gzip"',
    'W/"a;gzip"',
  ])('with the value %s matches the entity tag "a"', (value) => {
    expect(has(value)).toBe(true);
  });

  test.each(['', '""', '"b"', '"A"', '"aa"', 'a', '"*"', '"b, a"', '"b", "c"', 'W/"b"'])(
    'with the value %s does not match the entity tag "a"',
    (value) => {
      expect(has(value)).toBe(false);
    },
  );

  test('never matches a response without an entity tag', () => {
    for (const value of ['*', '"a"', '""']) {
      expect(isNotModified(headersOf({ 'If-None-Match': value }), undefined)).toBe(false);
    }
    expect(isNotModified(headersOf({}), '"a"')).toBe(false);
  });

  test('matches exactly the entity tags in its list', () => {
    const anyTag = fc
      .string({ unit: fc.constantFrom('a', 'b', ',', ' ', '*', 'W/', '\\'), maxLength: 4 })
      .map((text) => `"${text.replaceAll(' ', '!')}"`);
    const lists = fc.tuple(fc.array(fc.tuple(fc.constantFrom('', 'W/'), anyTag), { minLength: 1 }), anyTag);
    always(lists, ([list, tag]) => {
      const value = list.map((parts) => parts.join('')).join(', ');
      expect(has(value, tag)).toBe(list.some(([, one]) => one === tag));
    });
  });
});
