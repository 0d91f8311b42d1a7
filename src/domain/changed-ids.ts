import type { Resource, Versions } from './resources.ts';

/** An inclusive range of ids. If it has no end, the range includes all higher ids. */
export interface IdSpan {
  readonly from: bigint;
  readonly to: bigint | undefined;
}

/** Determines which cached data a change affects, in stores that track more than the version of each resource. */
export interface ChangedIds {
  /**
   * Returns a mark in the sequence of changes. Data of the resource that is read after this call includes all changes
   * up to the mark.
   */
  mark(resource: Resource): number;
  /** Whether all rows with ids in the span are unchanged between the mark and the given versions. */
  isUnchanged(resource: Resource, span: IdSpan, mark: number, versions: Versions): Promise<boolean>;
}
