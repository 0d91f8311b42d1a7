import { expect, test } from 'bun:test';
import { SecondChanceCache } from '../../src/domain/second-chance-cache.ts';

const held = () => ({ isRecent: false });

function filled(most: number, entries: number): SecondChanceCache<number, { isRecent: boolean }> {
  const cache = new SecondChanceCache<number, { isRecent: boolean }>(most);
  for (let key = 0; key < entries; key++) cache.set(key, held());
  return cache;
}

test('the cache never exceeds its maximum size', () => {
  for (const entries of [0, 1, 3, 4, 100]) expect(filled(3, entries).size).toBe(Math.min(3, entries));
});

test('an entry that is used before every pass of the clock hand stays cached', () => {
  const cache = filled(10, 10);
  for (let key = 10; key < 1_000; key++) {
    expect(cache.get(7)).toBeDefined();
    cache.set(key, held());
    expect(cache.size).toBe(10);
  }
});

test('unused entries are evicted first', () => {
  const cache = filled(4, 4);
  for (const key of [0, 2, 3]) cache.get(key);
  cache.set(4, held());
  expect([0, 1, 2, 3, 4].map((key) => cache.get(key) !== undefined)).toEqual([true, false, true, true, true]);
});

test('the size is correct after an entry is replaced or deleted', () => {
  const cache = filled(2, 2);
  const again = held();
  cache.set(1, again);
  expect([cache.size, cache.get(1)]).toEqual([2, again]);
  cache.delete(1);
  expect([cache.size, cache.get(1)]).toEqual([1, undefined]);
});

test('an entry is evicted even if all entries have been used', () => {
  const cache = filled(3, 3);
  for (const key of [0, 1, 2]) cache.get(key);
  cache.set(3, held());
  expect(cache.size).toBe(3);
  expect(cache.get(3)).toBeDefined();
});
