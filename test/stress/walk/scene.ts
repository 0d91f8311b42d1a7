import type { OperationId } from '../../../src/contract/operations.ts';
import type { Chance } from '../generate/chance.ts';
import type { ListIn } from './request.ts';
import type { Tags } from './tags.ts';
import type { World } from './world.ts';

/** The part of the store that a client's requests affect. */
export interface Scene {
  /** The exact state if only this client changes these objects, otherwise the last known state. */
  readonly world: World;
  /** Ids of categories that no other client uses. */
  readonly categories: readonly bigint[];
  /** Ids of deleted animals. */
  readonly gone: Set<bigint>;
  /** True if several clients change the same objects concurrently. */
  readonly isShared: boolean;
  /** True if the client's requests affect the whole store. */
  readonly isAlone: boolean;
}

/** A position in a list, taken from a response. */
export interface Position extends ListIn {
  readonly operationId: OperationId;
  readonly cursor: string;
  readonly after: bigint;
}

/** Inputs for creating a request. */
export interface RequestInputs {
  readonly chance: Chance;
  readonly scene: Scene;
  readonly tags: Tags;
  readonly positions: readonly Position[];
  /** Outcomes that have not occurred yet, which are made more likely. Undefined if no outcome is required. */
  readonly unmet?: readonly string[];
}

/** Each category id from 0 to this number (exclusive) is used by only one client or contest. */
export const endOfOwnCategories = 2_000_000n;

/** Start of a range of ids that are never assigned. */
const nowhere = 9_007_199_254_740_993_000n;

export function absentId(chance: Chance): bigint {
  return chance.pick([nowhere + BigInt(chance.int(0, 99)), 0n, -1n, 2n ** 63n - 1n, -(2n ** 63n)]);
}

export function categoryIdIn({ chance, scene: { categories } }: RequestInputs): bigint {
  return chance.pick(categories);
}
