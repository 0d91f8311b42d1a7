import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { petStatuses } from '../../src/contract/pets.ts';
import { readCursor, writeCursor } from '../../src/domain/cursor.ts';
import { always } from '../support/property.ts';

const anyId = fc.oneof(fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }), fc.constantFrom(1n, 2n ** 63n - 1n));
const anyFilter = fc.constantFrom(undefined, ...petStatuses);

/** The code a refused cursor is refused with; undefined when it is read. */
function refusal(text: string, status?: (typeof petStatuses)[number]): unknown {
  try {
    readCursor(text, status);
    return undefined;
  } catch (thrown) {
    return (thrown as { code?: unknown }).code;
  }
}

describe('a cursor', () => {
  test('is read back exactly as it was written', () => {
    always(fc.tuple(anyId, anyFilter), ([after, status]) => {
      expect(readCursor(writeCursor({ after, status }), status)).toBe(after);
    });
  });

  test('needs no escaping in a URL, and at most the 64 characters the contract says', () => {
    always(fc.tuple(anyId, anyFilter), ([after, status]) => {
      expect(writeCursor({ after, status })).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    });
  });

  test('is refused with any other filter', () => {
    always(fc.tuple(anyId, anyFilter, anyFilter), ([after, made, used]) => {
      fc.pre(made !== used);
      expect(refusal(writeCursor({ after, status: made }), used)).toBe('invalid_cursor');
    });
  });

  test('is refused when the service never wrote it', () => {
    const forged = fc
      .oneof(fc.string(), fc.tuple(fc.constantFrom(...petStatuses, ''), fc.integer()).map(String))
      .map((text) => Buffer.from(text).toString('base64url'));
    always(fc.oneof(fc.string(), fc.base64String(), forged), (text) => {
      expect(refusal(text)).toBe('invalid_cursor');
    });
  });

  test('after an id no animal can have is refused', () => {
    for (const after of [0n, 2n ** 63n, 9_999_999_999_999_999_999n]) {
      expect(refusal(writeCursor({ after, status: undefined }))).toBe('invalid_cursor');
    }
  });

  test('in another spelling of the same bytes is refused', () => {
    const cursor = writeCursor({ after: 12n, status: 'sold' });
    for (const text of [`${cursor}=`, `${cursor} `, `${cursor}\n`, ` ${cursor}`]) {
      expect(refusal(text, 'sold')).toBe('invalid_cursor');
    }
  });
});
