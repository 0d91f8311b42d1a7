import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { mayFollow, petStatuses, statusesAfter } from '../../src/domain/pet-status.ts';
import { always } from '../support/property.ts';

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
  ] as const)('after %s may follow %s: %p', (from, to, allowed) => {
    expect(mayFollow(from, to)).toBe(allowed);
  });

  test('what may follow is named without the status itself, and each only once', () => {
    for (const from of petStatuses) {
      const named = statusesAfter(from);
      expect(new Set(named).size).toBe(named.length);
      expect([...named].sort()).toEqual(
        petStatuses.filter((to) => to !== from && mayFollow(from, to)).sort(),
      );
    }
  });

  test('lead from each to each: no animal is stuck', () => {
    for (const from of petStatuses) {
      const reached = new Set([from]);
      // A set that grows is walked to its new end.
      for (const status of reached) for (const to of statusesAfter(status)) reached.add(to);
      expect([...reached].sort()).toEqual([...petStatuses].sort());
    }
  });

  test('never lead from sold to pending in one step, whatever was tried before', () => {
    always(fc.array(fc.constantFrom(...petStatuses), { maxLength: 30 }), (wishes) => {
      let status: (typeof petStatuses)[number] = 'available';
      for (const wish of wishes) {
        const before = status;
        if (mayFollow(status, wish)) status = wish;
        expect(before === 'sold' && status === 'pending').toBe(false);
      }
    });
  });
});
