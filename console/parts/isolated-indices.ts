/** Returns the indices of values without a neighboring value on either side. */
export function isolatedIndices(values: ArrayLike<number | null | undefined>): number[] {
  return Array.from(values, (value, at) => ({ value, at }))
    .filter(
      ({ value, at }) => (value ?? null) !== null && (values[at - 1] ?? values[at + 1] ?? null) === null,
    )
    .map(({ at }) => at);
}
