import type { Resource, Versions } from './resources.ts';

/** An inclusive range of ids; without an end, it includes all later ids. */
export interface IdSpan {
  readonly from: bigint;
  readonly to: bigint | undefined;
}

/** Determines which cached data a change affects, for stores that track more than the versions of resources. */
export interface ChangedIds {
  /** Data of a resource read from now on includes all changes up to this mark. */
  mark(resource: Resource): number;
  /** Whether no row with an id in the span has changed since a mark, as of the given versions. */
  isUnchanged(resource: Resource, span: IdSpan, mark: number, versions: Versions): Promise<boolean>;
}
