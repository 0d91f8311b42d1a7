import type { OperationId } from '../../../src/contract/operations.ts';
import type { Chance } from '../generate/chance.ts';
import type { ListIn } from './request.ts';
import type { Tags } from './tags.ts';
import type { World } from './world.ts';

/** What requests are about: a part of the store. */
export interface Scene {
  /** As it is, where one client alone changes it; else as it was last seen. */
  readonly world: World;
  /** Ids of categories that nobody else uses. */
  readonly categories: readonly bigint[];
  /** Ids of animals that were there once. */
  readonly gone: Set<bigint>;
  /** Whether several clients change it at once. */
  readonly isShared: boolean;
  /** Whether it is the whole store. */
  readonly isAlone: boolean;
}

/** A position in a list that an answer gave. */
export interface Position extends ListIn {
  readonly operationId: OperationId;
  readonly cursor: string;
  readonly after: bigint;
}

/** What a request is made of. */
export interface Making {
  readonly chance: Chance;
  readonly scene: Scene;
  readonly tags: Tags;
  readonly positions: readonly Position[];
}

/** Ids of categories from 0 to this belong to one client or one contest. */
export const endOfOwnCategories = 2_000_000n;

/** Nothing ever has it. */
const nowhere = 9_007_199_254_740_993_000n;

export function absentId(chance: Chance): bigint {
  return chance.pick([nowhere + BigInt(chance.int(0, 99)), 0n, -1n, 2n ** 63n - 1n, -(2n ** 63n)]);
}

export function categoryIdIn({ chance, scene: { categories } }: Making): bigint {
  return chance.pick(categories);
}
