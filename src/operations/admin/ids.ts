/** Ids of accounts, keys and operators, which are numbers in the store but int64 in requests. */
import { expectFoundById } from '../errors.ts';

const maxId = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * The id as a number. An id above 2^53 - 1 becomes 2^53 - 1, because it would otherwise be rounded, possibly to 2^63,
 * which PostgreSQL rejects. No store assigns ids that high.
 */
export function toNumericId(id: bigint): number {
  return Number(id < maxId ? id : maxId);
}

/** Like `toNumericId`, but throws `otherwise` for an id that would not be exact. */
export function expectNumericId(id: bigint, otherwise: Parameters<typeof expectFoundById>[1]): number {
  const numeric = toNumericId(id);
  return expectFoundById(BigInt(numeric) === id ? numeric : undefined, otherwise, id);
}
