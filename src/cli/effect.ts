import type { AdminServices } from '../app.ts';

/** A sentence to add where several instances may serve the store, for they apply a change a little later. */
export function fromWhenOn({ storage }: AdminServices): string {
  return storage.staleAtMostMs === 0
    ? ''
    : ` All instances apply this within ${storage.staleAtMostMs / 1_000} s.`;
}
