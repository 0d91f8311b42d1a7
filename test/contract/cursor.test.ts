import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { decodeCursor, encodeCursor, encodeFilters } from '../../src/contract/cursor.ts';
import { int64Min } from '../../src/contract/json.ts';
import { petStatuses } from '../../src/domain/pet-status.ts';
import { always } from '../support/property.ts';

const anyId = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.constantFrom(-(2n ** 63n), -1n, 0n, 1n, 2n ** 63n - 1n),
);
const anyInt64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const anyFilters = fc
  .record(
    {
      status: fc.constantFrom(...petStatuses),
      categoryId: anyInt64,
      id: fc.array(anyInt64, { minLength: 1, maxLength: 100 }),
    },
    { requiredKeys: [] },
  )
  .map((query) => encodeFilters('/pets', query));

/** The error code of a rejected cursor. Undefined if the cursor is accepted. */
function refusal(text: string, filters = ''): unknown {
  try {
    decodeCursor(text, filters, int64Min);
    return undefined;
  } catch (thrown) {
    return (thrown as { code?: unknown }).code;
  }
}

describe('a cursor', () => {
  test('survives a round trip', () => {
    always(fc.tuple(anyId, anyFilters), ([after, filters]) => {
      expect(decodeCursor(encodeCursor({ after, filters }), filters, int64Min)).toEqual({ after, filters });
    });
  });

  test('needs no escaping in a URL and has at most 64 characters', () => {
    always(fc.tuple(anyId, anyFilters), ([after, filters]) => {
      expect(encodeCursor({ after, filters })).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    });
  });

  test('is rejected if the filters are different', () => {
    always(fc.tuple(anyId, anyFilters, anyFilters), ([after, made, used]) => {
      fc.pre(made !== used);
      expect(refusal(encodeCursor({ after, filters: made }), used)).toBe('invalid_cursor');
    });
  });

  test('is rejected if the service did not issue it', () => {
    const forged = fc
      .oneof(fc.string(), fc.tuple(fc.constantFrom(...petStatuses, ''), fc.integer()).map(String))
      .map((text) => Buffer.from(text).toString('base64url'));
    always(fc.oneof(fc.string(), fc.base64String(), forged), (text) => {
      expect(refusal(text)).toBe('invalid_cursor');
    });
  });

  test('is rejected if its id is not an int64', () => {
    for (const after of [2n ** 63n, -(2n ** 63n) - 1n, 9_999_999_999_999_999_999n]) {
      expect(refusal(encodeCursor({ after, filters: '' }))).toBe('invalid_cursor');
    }
  });

  test('is rejected if its id is below the lowest possible id', () => {
    for (const after of [0n, -1n]) {
      expect(() => decodeCursor(encodeCursor({ after, filters: '' }), '', 1n)).toThrow();
    }
  });

  test('is rejected if the same bytes are encoded differently', () => {
    const cursor = encodeCursor({ after: 12n, filters: 'sold' });
    for (const text of [`${cursor}=`, `${cursor} `, `${cursor}\n`, ` ${cursor}`]) {
      expect(refusal(text, 'sold')).toBe('invalid_cursor');
    }
  });
});

test('a separator in a filter value is not mistaken for the end of the value', () => {
  const texts = [{ name: 'a&open=b' }, { name: 'a', open: 'b' }, { name: 'a%26open=b' }].map((query) =>
    encodeFilters('/accounts', query),
  );
  expect(new Set(texts).size).toBe(3);
});
