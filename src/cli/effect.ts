import type { AdminServices } from '../app.ts';

/** What is added to a sentence about the next request where several instances may serve the store. */
export function fromWhenOn({ storage }: AdminServices): string {
  return storage.staleAtMostMs === 0 ? '' : `, on every instance within ${storage.staleAtMostMs / 1_000} s`;
}
