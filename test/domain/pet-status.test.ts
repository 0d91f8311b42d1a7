import { describe, expect, test } from 'bun:test';
import { mayFollow, petStatuses, statusesAfter } from '../../src/domain/pet-status.ts';

describe('the statuses of an animal', () => {
  test.each([
    ['available', 'available', true],
    ['available', 'pending', true],
    ['available', 'sold', true],
    ['pending', 'available', true],
    ['pending', 'pending', true],
    ['pending', 'sold', true],
    ['sold', 'available', true],
    ['sold', 'pending', false],
    ['sold', 'sold', true],
  ] as const)('from %s to %s: %p', (from, to, allowed) => {
    expect(mayFollow(from, to)).toBe(allowed);
  });

  test('the named followers are those allowed, each once, without the status itself', () => {
    for (const from of petStatuses) {
      const named = statusesAfter(from);
      expect(new Set(named).size).toBe(named.length);
      expect([...named].sort()).toEqual(
        petStatuses.filter((to) => to !== from && mayFollow(from, to)).sort(),
      );
    }
  });
});
