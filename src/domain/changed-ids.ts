import type { Resource, Versions } from './resources.ts';

/** An inclusive range of ids. Without an end, the range includes all later ids. */
export interface IdSpan {
  readonly from: bigint;
  readonly to: bigint | undefined;
}

/** Determines which cached data a change affects, in stores that track more than the version of each resource. */
export interface ChangedIds {
  /** Returns a mark: data of the resource that is read from now on includes all changes up to the mark. */
  mark(resource: Resource): number;
  /** Whether no row with an id in the span has changed since the mark, as of the given versions. */
  isUnchanged(resource: Resource, span: IdSpan, mark: number, versions: Versions): Promise<boolean>;
}
