import fc from 'fast-check';

/** A fixed seed, so that failures are reproducible. fast-check prints the seed and the path of a failure. */
const seed = 20_301_205;

/** Checks a property with a fixed seed. */
export function always<Case>(
  cases: fc.Arbitrary<Case>,
  property: (sample: Case) => void,
  runs = 1_000,
): void {
  fc.assert(fc.property(cases, property), { seed, numRuns: runs });
}

/** An int64. The bounds of int64 and of JavaScript's safe integers are more frequent than other values. */
export const anyInt64 = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.bigInt({ min: -1_000n, max: 1_000n }),
  fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 0n),
);
