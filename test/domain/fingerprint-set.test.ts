import { expect, test } from 'bun:test';
import { computeFingerprint } from '../../src/domain/key.ts';
import { FingerprintSet } from '../../src/operations/admission/known-keys.ts';

test('added fingerprints are always found, and unknown ones are almost never reported as found', () => {
  const set = new FingerprintSet();
  const added = Array.from({ length: 20_000 }, (_, index) => computeFingerprint(`key ${index}`));
  for (const print of added) set.add(print);
  expect(added.filter((print) => !set.mayHave(print))).toEqual([]);
  const others = Array.from({ length: 20_000 }, (_, index) => computeFingerprint(`other ${index}`));
  expect(others.filter((print) => set.mayHave(print)).length).toBeLessThanOrEqual(1);
  set.clear();
  expect(added.some((print) => set.mayHave(print))).toBe(false);
});
