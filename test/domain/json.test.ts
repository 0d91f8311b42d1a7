import { describe, expect, test } from 'bun:test';
import { isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import * as z from 'zod';
import {
  int64Max,
  int64Min,
  JsonError,
  maxJsonDepth,
  NotInt64,
  parseInt64,
  parseJson,
} from '../../src/contract/json.ts';
import { readJsonBody } from '../../src/http/pipeline/body.ts';
import { jsonTexts } from '../stress/json.ts';
import { outcomeOf, readByGrammar } from '../support/json-grammar.ts';
import { always, anyInt64 } from '../support/property.ts';

/** Every way to write an integer in JSON: plain, with a zero fraction, or with an exponent. */
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

describe('an int64 value', () => {
  test('is parsed exactly in every JSON notation', () => {
    always(
      spelled,
      ({ value, text }) => {
        expect(parseJson(text)).toBe(value);
        expect(parseJson(`{"categoryId": ${text}}`)).toEqual({ categoryId: value });
      },
      2_000,
    );
  });

  test('is exact at both bounds, and out-of-range values are rejected', () => {
    expect(parseJson('9223372036854775807')).toBe(int64Max);
    expect(parseJson('-9223372036854775808')).toBe(int64Min);
    for (const text of ['9223372036854775808', '-9223372036854775809', '1e19', '-1e19', '1e400', '-1e400']) {
      expect(parseJson(text)).toBeInstanceOf(NotInt64);
    }
  });

  test('is rejected if it has a fraction, however small', () => {
    const fraction = fc.tuple(anyInt64, fc.stringMatching(/^\d{0,30}[1-9]$/));
    always(fraction, ([value, digits]) => {
      expect(parseJson(`${value}.${digits}`)).toBeInstanceOf(NotInt64);
    });
    for (const text of ['1.5', '1e-1', '10e-2', '1e-400', `1e-${'9'.repeat(400)}`, `1e${'9'.repeat(400)}`]) {
      expect(parseJson(text)).toBeInstanceOf(NotInt64);
    }
  });

  test('is accepted in a path only as plain digits', () => {
    always(anyInt64, (value) => expect(parseInt64(String(value))).toBe(value));
    const others = ['', ' 1', '1 ', '+1', '01', '-0', '-01', '1.0', '1e2', '0x1', '١', '1n', 'NaN', '--1'];
    for (const text of [...others, '9223372036854775808', '-9223372036854775809', '9'.repeat(400)]) {
      expect(parseInt64(text)).toBeUndefined();
    }
  });
});

describe('JSON text', () => {
  test('is rejected with an error that lists all duplicate members and any __proto__ member', () => {
    const text = '{"a":1,"b":{"c":1,"c":2,"__proto__":3},"a":2,"a":3}';
    expect(() => parseJson(text)).toThrow(
      'c is given more than once; __proto__ is not allowed; a is given more than once',
    );
  });

  test('is parsed up to the maximum depth, without exhausting the stack', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(parseJson(nested(maxJsonDepth))).toBeArray();
    expect(() => parseJson(nested(maxJsonDepth + 1))).toThrow(JsonError);
    expect(() => parseJson(nested(1_000_000))).toThrow(JsonError);
    expect(() => parseJson(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`)).toThrow(JsonError);
  });
});

test('text is parsed or rejected according to the grammar, by the fast parser for flat objects as well', async () => {
  await jsonTexts({ rounds: 4_000, seed: 20_301_205, progress: () => undefined });
});

/** Bytes that are invalid UTF-8 in most positions, including a surrogate, an overlong zero and a byte order mark. */
const oddBytes = ['00', '7f', '80', 'bf', 'c3', 'e2', 'f0', 'f5', 'ff', 'eda080', 'c080', 'efbbbf'];

test('a body with invalid UTF-8 anywhere is rejected', async () => {
  const body = Buffer.from('{"a":1,"é😀":"ü"}');
  for (let at = 0; at <= body.length; at++) {
    for (const odd of oddBytes) {
      for (const kept of [at, at + 1]) {
        const bytes = Buffer.concat([body.subarray(0, at), Buffer.from(odd, 'hex'), body.subarray(kept)]);
        const headers = { 'Content-Type': 'application/json' };
        const request = new Request('http://localhost', { method: 'POST', headers, body: bytes });
        const reading = readJsonBody(request, { schema: z.strictObject({}) });
        const read = await reading.then(
          ({ value }) => outcomeOf(() => value, ''),
          () => 'refused',
        );
        const text = isUtf8(bytes) ? outcomeOf(readByGrammar, bytes.toString()) : 'refused';
        expect([bytes, read]).toEqual([bytes, text]);
      }
    }
  }
});
