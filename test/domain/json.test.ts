import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  int64Max,
  int64Min,
  JsonError,
  MemberError,
  maxJsonDepth,
  NotInt64,
  parseInt64,
  parseJson,
} from '../../src/contract/json.ts';
import { always, anyInt64 } from '../support/property.ts';

/** Every way JSON can write an integer: plain, with a zero fraction, with the point or the zeros in an exponent. */
const spelled = fc
  .tuple(anyInt64, fc.integer({ min: 0, max: 25 }), fc.constantFrom('e', 'E'), fc.constantFrom('', '+'))
  .chain(([value, shift, e, plus]) => {
    const sign = value < 0n ? '-' : '';
    const digits = String(value < 0n ? -value : value);
    const padded = digits.padStart(shift + 1, '0');
    const pointed = `${padded.slice(0, padded.length - shift) || '0'}.${padded.slice(padded.length - shift)}`;
    const zeros = /0*$/.exec(digits)?.[0].length ?? 0;
    const spellings = [
      digits,
      `${digits}.0`,
      `${digits}.${'0'.repeat(shift + 1)}`,
      `${digits}${e}${plus}0`,
      ...(digits === '0' ? [] : [`${digits}${'0'.repeat(shift)}${e}-${shift}`]),
      ...(shift > 0 ? [`${pointed.replace(/^0+(?=\d)/, '')}${e}${plus}${shift}`] : []),
      ...(digits === '0' ? ['0e999', '0.0e-999'] : [`${digits.slice(0, digits.length - zeros)}${e}${zeros}`]),
    ];
    return fc.constantFrom(...spellings).map((text) => ({ value, text: sign + text }));
  });

describe('an integer of int64', () => {
  test('is exact in every spelling JSON has for it', () => {
    always(
      spelled,
      ({ value, text }) => {
        expect(parseJson(text)).toBe(value);
        expect(parseJson(`{"categoryId": ${text}}`)).toEqual({ categoryId: value });
      },
      2_000,
    );
  });

  test('is exact at both bounds, and one beyond them is none', () => {
    expect(parseJson('9223372036854775807')).toBe(int64Max);
    expect(parseJson('-9223372036854775808')).toBe(int64Min);
    for (const text of ['9223372036854775808', '-9223372036854775809', '1e19', '-1e19', '1e400', '-1e400']) {
      expect(parseJson(text)).toBeInstanceOf(NotInt64);
    }
  });

  test('has no fraction, however small', () => {
    const fraction = fc.tuple(anyInt64, fc.stringMatching(/^\d{0,30}[1-9]$/));
    always(fraction, ([value, digits]) => {
      expect(parseJson(`${value}.${digits}`)).toBeInstanceOf(NotInt64);
    });
    for (const text of ['1.5', '1e-1', '10e-2', '1e-400', `1e-${'9'.repeat(400)}`, `1e${'9'.repeat(400)}`]) {
      expect(parseJson(text)).toBeInstanceOf(NotInt64);
    }
  });

  test('in a path is written plainly', () => {
    always(anyInt64, (value) => expect(parseInt64(String(value))).toBe(value));
    const others = ['', ' 1', '1 ', '+1', '01', '-0', '-01', '1.0', '1e2', '0x1', '١', '1n', 'NaN', '--1'];
    for (const text of [...others, '9223372036854775808', '-9223372036854775809', '9'.repeat(400)]) {
      expect(parseInt64(text)).toBeUndefined();
    }
  });
});

/** Any JSON value whose numbers are small integers, with members a parser might trip over. */
const anyJson = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.parse(JSON.stringify(value, wholeNumbers)));

function wholeNumbers(_key: string, value: unknown): unknown {
  return typeof value === 'number' ? Math.trunc(value % 1_000) : value;
}

/** A value as the standard parser gives it, its numbers as the exact parser gives them. */
function exact(value: unknown): unknown {
  if (typeof value === 'number') return BigInt(value);
  if (Array.isArray(value)) return value.map(exact);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, exact(member)]));
}

describe('JSON text', () => {
  test('means what the standard parser says, whatever is in its strings', () => {
    always(fc.tuple(anyJson, fc.constantFrom(undefined, 1, '\t\n\r ')), ([value, space]) => {
      fc.pre(!JSON.stringify(value).includes('"__proto__"'));
      expect(parseJson(JSON.stringify(value, undefined, space))).toEqual(exact(value));
    });
  });

  test('that the standard parser refuses is refused', () => {
    const broken = fc.tuple(anyJson, fc.nat(), fc.constantFrom('', ',', '}', ']', '"', '{', '0', 'x', '\\'));
    always(fc.oneof(fc.string(), broken.map(broke)), (text) => {
      fc.pre(!isStandard(text));
      expect(() => parseJson(text)).toThrow(JsonError);
    });
  });

  test('with a member given twice is refused at any depth, however the name is escaped', () => {
    const place = fc.tuple(fc.string(), fc.array(fc.constantFrom('array', 'object'), { maxLength: 30 }));
    always(fc.tuple(place, anyJson, anyJson, fc.boolean()), ([[name, wrappers], one, two, escaped]) => {
      fc.pre(name !== '__proto__');
      const first = JSON.stringify(name);
      const again = escaped
        ? `"${[...Array(name.length).keys()].map((at) => unicode(name, at)).join('')}"`
        : first;
      let text = `{${first}: ${clean(one)}, ${JSON.stringify(`other${name}`)}: 1, ${again}: ${clean(two)}}`;
      for (const wrapper of wrappers) text = wrapper === 'array' ? `[1, ${text}]` : `{"in": ${text}}`;
      expect(() => parseJson(text)).toThrow(MemberError);
    });
  });

  test('names every member given twice, and __proto__, at once', () => {
    const text = '{"a":1,"b":{"c":1,"c":2,"__proto__":3},"a":2,"a":3}';
    expect(() => parseJson(text)).toThrow(
      'c is given more than once; __proto__ is not allowed; a is given more than once',
    );
  });

  test('may use the same member in different objects', () => {
    expect(parseJson('[{"a":1},{"a":{"a":2}}]')).toEqual([{ a: 1n }, { a: { a: 2n } }]);
  });

  test('with a member __proto__ is refused, however it is escaped', () => {
    for (const name of ['__proto__', '\\u005f_proto__', '\\u005F\\u005fproto\\u005f_']) {
      expect(() => parseJson(`{"name":"Ozzy","${name}":{}}`)).toThrow(MemberError);
    }
  });

  test('is read as deep as the bound says and no deeper, without exhausting the stack', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(parseJson(nested(maxJsonDepth))).toBeArray();
    expect(() => parseJson(nested(maxJsonDepth + 1))).toThrow(JsonError);
    expect(() => parseJson(nested(1_000_000))).toThrow(JsonError);
    expect(() => parseJson(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`)).toThrow(JsonError);
  });
});

function isStandard(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function broke([value, at, character]: [unknown, number, string]): string {
  const text = JSON.stringify(value);
  const place = at % (text.length + 1);
  return text.slice(0, place) + character + text.slice(place + 1);
}

function unicode(name: string, at: number): string {
  return `\\u${name.charCodeAt(at).toString(16).padStart(4, '0')}`;
}

function clean(value: unknown): string {
  return JSON.stringify(value).replaceAll('__proto__', 'proto');
}

describe('the fast parser of flat objects', () => {
  /** Nearly always one of the first, so that most texts are JSON. */
  const mostly = (usual: readonly string[], odd: readonly string[]) =>
    fc.oneof(
      { arbitrary: fc.constantFrom(...usual), weight: 30 },
      { arbitrary: fc.constantFrom(...odd), weight: 1 },
    );
  const gap = mostly(['', '', ' ', '\n', '\t \r'], ['\u00a0', '\v', '\f', '\ufeff', '\u2028']);
  const name = mostly(
    ['"a"', '"b"', '"c"', '"a:1,{"', '""', '"1"'],
    ['"__proto__"', '"\\u0061"', '"\t"', 'a'],
  );
  const value = mostly(
    [
      ...['"a"', '""', '"\u2028"', '"a:1,{"', 'true', 'false', 'null', '0', '-0', '7', '999999999999999'],
      ...['-999999999999999', '9007199254740993', '9223372036854775807', '1.0', '1e2', '[1]', '{"a":1}'],
      ...['1.5', '9007199254740991.2', '0.99999999999999999999', '9223372036854775808'],
    ],
    ['"x\\"y"', '"\\n"', '"\n"', '"', 'nil', '{"a":1,"a":2}', '01', '+1', '', '.1', '1.'],
  );
  const member = fc
    .tuple(gap, name, gap, gap, value, gap)
    .map(([a, key, b, c, text, d]) => `${a}${key}${b}:${c}${text}${d}`);
  const object = fc
    .tuple(gap, fc.array(member, { maxLength: 4 }), mostly([''], [',', '}', 'x']), gap)
    .map(([before, members, extra, behind]) => `${before}{${members.join(',')}${extra}}${behind}`);

  const outcomeOf = (text: string, unwrap: (value: unknown) => unknown) => {
    try {
      return { value: unwrap(parseJson(text)) };
    } catch (error) {
      if (error instanceof MemberError) return { mistakes: error.mistakes, value: unwrap(error.value) };
      expect(error).toBeInstanceOf(JsonError);
      return 'no JSON';
    }
  };

  test('reads every text as the exact parser does, which also reads arrays', () => {
    always(
      object,
      (text) => {
        const exact = outcomeOf(`[${text}]`, (array) => (array as unknown[])[0]);
        expect([text, outcomeOf(text, (own) => own)]).toEqual([text, exact]);
      },
      5_000,
    );
  });
});
