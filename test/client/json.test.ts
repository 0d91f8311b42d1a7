import { describe, expect, spyOn, test } from 'bun:test';
import fc from 'fast-check';
import { int64Members } from '../../client/src/contract.ts';
import { ArgumentError } from '../../client/src/errors.ts';
import { parseJson, stringify, stringifyJson } from '../../client/src/json.ts';
import { always, anyInt64 } from '../support/property.ts';

/** Strings that resemble the patterns that the parser searches for. */
const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '"id":1',
    '\\"id":1,',
    '{"id": 9007199254740993}',
    '"',
    '\\',
    '\\\\"',
    'id',
    '","categoryId":7',
  ),
);

const memberName = fc.oneof(fc.constantFrom(...int64Members, 'name', 'remaining', '__proto__'), hostile);

const { value: anyJson } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    hostile,
    fc.constantFrom(null, true, 0, -1, 1.5, 1e300, 2 ** 31),
    fc.array(tie('value'), { maxLength: 4 }),
    fc
      .array(fc.tuple(memberName, fc.oneof(anyInt64, tie('value'))), { maxLength: 5 })
      .map(Object.fromEntries),
  ),
}));

/** A simple reference serializer for JSON. `quoted` writes strings. */
function written(value: unknown, quoted: (text: string) => string): string {
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'string') return quoted(value);
  if (Array.isArray(value)) return `[ ${value.map((each) => written(each, quoted)).join(' ,\n')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, each]) => `${quoted(name)} : ${written(each, quoted)}`);
  return `{${members.join(', ')}}`;
}

const escaped = (text: string) =>
  `"${Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')}"`;

/** Expected result of parsing: exact integers where the contract specifies int64, and doubles elsewhere. */
function read(value: unknown, name = ''): unknown {
  const isExact = int64Members.includes(name);
  if (typeof value === 'bigint') return isExact ? value : Number(value);
  if (typeof value === 'number')
    return isExact && /^-?\d+$/.test(JSON.stringify(value)) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map((each) => read(each));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([member, each]) => [member, read(each, member)]));
}

describe('the JSON parser', () => {
  for (const [how, quoted] of [
    ['plainly', JSON.stringify],
    ['in escapes', escaped],
  ] as const) {
    test(`keeps int64 members exact and other values unchanged when strings are written ${how}`, () => {
      always(anyJson, (value) => expect(parseJson(written(value, quoted))).toEqual(read(value)));
    });
  }

  test('returns an animal with exact integers', () => {
    const text =
      '{"id":9007199254740993,"name":"\\"id\\":1","categoryId":-9223372036854775808,"status":"sold"}';
    expect(parseJson(text)).toEqual({
      id: 2n ** 53n + 1n,
      name: '"id":1',
      categoryId: -(2n ** 63n),
      status: 'sold',
    });
  });

  test('rejects invalid JSON', () => {
    for (const text of [
      '',
      '{"id":01}',
      '{"id":-}',
      '{"id":1',
      '"id":1',
      '{"id":1}x',
      '{"id":1.}',
      '{"id":+1}',
    ]) {
      expect(() => parseJson(text)).toThrow(SyntaxError);
    }
  });
});

test('invalid JSON is rejected before it is searched for members, which could take quadratic time', () => {
  using replace = spyOn(String.prototype, 'replace');
  expect(() => parseJson(`"${'\\"'.repeat(20_000)}`)).toThrow(SyntaxError);
  expect(replace.mock.contexts.filter((text) => String(text).length > 40_000)).toEqual([]);
});

describe('the JSON serializer', () => {
  test('writes a body that can be parsed without loss', () => {
    const body = fc.record({ name: hostile, categoryId: anyInt64, petId: fc.maxSafeInteger() });
    always(body, (sent) => {
      expect(parseJson(stringifyJson(sent))).toEqual({ ...sent, petId: BigInt(sent.petId) });
    });
  });

  test('writes nested values that can be parsed without loss', () => {
    always(anyJson, (value) => expect(parseJson(stringify(value))).toEqual(read(value)));
  });

  test('writes values without a bigint like JSON.stringify', () => {
    const values = [
      new Date(0),
      { a: undefined, b: () => 1, c: [undefined, Number.NaN, ...new Array(1), -0] },
      'a"\u2028',
      null,
    ];
    for (const value of values) expect(stringify(value)).toBe(JSON.stringify(value));
    expect(stringify(undefined)).toBe('null');
    expect(stringify({ toJSON: () => [2n ** 63n] })).toBe('[9223372036854775808]');
  });

  test('omits undefined members', () => {
    expect(stringifyJson({ name: 'Ozzy', categoryId: undefined, status: undefined })).toBe('{"name":"Ozzy"}');
  });

  test('rejects an unsafe number with an error that names the member', () => {
    for (const categoryId of [2 ** 53, 1.5, Number.NaN, Infinity]) {
      expect(() => stringifyJson({ categoryId })).toThrow(
        new ArgumentError(`categoryId must be a bigint or a safe integer, not ${categoryId}.`),
      );
    }
  });
});
