import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseJson } from '../../src/contract/json.ts';
import { NewPet, Pet } from '../../src/contract/pets.ts';
import { petJson } from '../../src/contract/representations.ts';
import { validate } from '../../src/contract/validation.ts';
import { petStatuses } from '../../src/domain/pet-status.ts';
import { always, anyInt64 } from '../support/property.ts';

/** The contract's rule for names, implemented with code points instead of patterns. */
function isName(name: unknown): boolean {
  if (typeof name !== 'string') return false;
  const points = Array.from(name, (character) => character.codePointAt(0) ?? 0);
  const isControl = (point: number) => point < 32 || point === 127;
  const isSurrogate = (point: number) => point >= 0xd800 && point <= 0xdfff;
  const isSpace = (point: number) => spaces.has(point);
  if (points.length < 1 || points.length > 255) return false;
  return !points.some(isControl) && !points.some(isSurrogate) && !points.every(isSpace);
}

/** Whitespace as defined by ECMAScript, which the contract's pattern excludes with \S. */
const spaces = new Set([
  ...[9, 10, 11, 12, 13, 32, 160, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff],
  ...Array.from({ length: 11 }, (_, index) => 0x2000 + index),
]);

/** A member's value as JSON, and whether it is valid for that member. */
interface Written {
  readonly text: string;
  readonly right: boolean;
}

const anyUnit = fc.oneof(
  { arbitrary: fc.string({ unit: 'grapheme', maxLength: 3 }), weight: 6 },
  { arbitrary: fc.constantFrom(...Array.from(spaces, (point) => String.fromCodePoint(point))), weight: 2 },
  { arbitrary: fc.constantFrom('\u0000', '\u001f', '\u007f', '\u0080', '\ud83d', '\udc08', '🐈'), weight: 1 },
);
const anyText = fc.oneof(
  fc.array(anyUnit, { maxLength: 12 }).map((units) => units.join('')),
  fc
    .tuple(fc.constantFrom('x', '🐈', ' '), fc.integer({ min: 253, max: 257 }))
    .map(([unit, count]) => unit.repeat(count)),
);
const anyName: fc.Arbitrary<Written> = fc.oneof(
  { arbitrary: anyText.map((name) => ({ text: JSON.stringify(name), right: isName(name) })), weight: 8 },
  { arbitrary: wrong('null', '1', '1.5', '1e400', 'true', '[]', '{}'), weight: 1 },
);
const anyCategory: fc.Arbitrary<Written> = fc.oneof(
  { arbitrary: anyInt64.map((value) => ({ text: String(value), right: true })), weight: 6 },
  { arbitrary: anyInt64.map((value) => ({ text: `${value}.0`, right: true })), weight: 2 },
  {
    arbitrary: fc
      .bigInt({ min: 2n ** 63n, max: 2n ** 80n })
      .map((value) => ({ text: `${value}`, right: false })),
    weight: 1,
  },
  { arbitrary: wrong('null', '"1"', '1.5', '1e400', 'true', '[]', '{}'), weight: 1 },
);
const anyStatus: fc.Arbitrary<Written> = fc.oneof(
  {
    arbitrary: fc.constantFrom(...petStatuses).map((status) => ({ text: `"${status}"`, right: true })),
    weight: 4,
  },
  { arbitrary: wrong('null', '""', '"Sold"', '"lost"', '1', '1.5', '[]', '{}'), weight: 1 },
);

function wrong(...texts: string[]): fc.Arbitrary<Written> {
  return fc.constantFrom(...texts).map((text) => ({ text, right: false }));
}

/** A body with valid, invalid and missing members in any order. */
const anyBody = fc
  .record({
    name: fc.option(anyName, { freq: 8 }),
    categoryId: fc.option(anyCategory, { freq: 8 }),
    status: fc.option(anyStatus, { freq: 2 }),
    unknown: fc.constantFrom(null, null, null, null, null, 'id', 'colour', 'Name', 'constructor'),
    order: fc.infiniteStream(fc.nat()).map((stream) => [...stream.take(4)]),
  })
  .map(({ name, categoryId, status, unknown, order }) => {
    const members = [
      ...(name === null ? [] : [`"name":${name.text}`]),
      ...(categoryId === null ? [] : [`"categoryId":${categoryId.text}`]),
      ...(status === null ? [] : [`"status":${status.text}`]),
      ...(unknown === null ? [] : [`"${unknown}":1`]),
    ];
    const sorted = members.map((member, at) => ({ member, at: order[at] ?? 0 })).sort((a, b) => a.at - b.at);
    const mistakes = [
      ...(name?.right ? [] : ['name']),
      ...(categoryId?.right ? [] : ['categoryId']),
      ...(status === null || status.right ? [] : ['status']),
      ...(unknown === null ? [] : [unknown]),
    ];
    return { text: `{${sorted.map(({ member }) => member).join(',')}}`, mistakes };
  });

describe('a new animal', () => {
  test('is accepted or rejected according to the rules, and a rejection lists every invalid or missing member', () => {
    const outcomes = { taken: 0, refused: 0 };
    always(
      anyBody,
      ({ text, mistakes }) => {
        const checked = validate(NewPet, parseJson(text), 'body');
        const named = 'mistakes' in checked ? new Set(checked.mistakes.map(({ name }) => name)) : new Set();
        expect([...named].sort()).toEqual([...mistakes].sort());
        outcomes[named.size === 0 ? 'taken' : 'refused']++;
      },
      2_000,
    );
    expect(Math.min(outcomes.taken, outcomes.refused)).toBeGreaterThan(200);
  });

  test('is returned unchanged', () => {
    const anyPet = fc.record({
      name: anyText.filter(isName),
      categoryId: anyInt64,
      status: fc.constantFrom(...petStatuses),
    });
    always(fc.tuple(anyPet, fc.bigInt({ min: 1n, max: 2n ** 63n - 1n })), ([pet, id]) => {
      const text = petJson({ id, ...pet });
      expect(validate(Pet, parseJson(text), 'body')).toEqual({ value: { id, ...pet } });
      expect(JSON.parse(text)).toMatchObject({ name: pet.name, status: pet.status });
      expect(validate(NewPet, parseJson(text.replace(/"id":\d+,/, '')), 'body')).toEqual({ value: pet });
    });
  });
});
