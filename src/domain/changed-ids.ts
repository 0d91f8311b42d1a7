import type { Resource, Versions } from './resources.ts';

/** Ids from one to another, both included; without an end, all from the first on. */
export interface IdSpan {
  readonly from: bigint;
  readonly to: bigint | undefined;
}

/** Tells which cached data a change leaves as it is, where a store knows more than the versions of resources. */
export interface ChangedIds {
  /** Data of a resource that is read from now on has all changes known under this mark. */
  mark(resource: Resource): number;
  /** Whether no row with an id in the span has changed since a mark, as of the given versions. */
  isUnchanged(resource: Resource, span: IdSpan, mark: number, versions: Versions): Promise<boolean>;
}
