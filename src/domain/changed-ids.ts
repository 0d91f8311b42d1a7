import type { Resource, Versions } from './resources.ts';

/** An inclusive range of ids. If it has no end, the range includes all higher ids. */
export interface IdSpan {
  readonly from: bigint;
  readonly to: bigint | undefined;
}

/** Determines whether cached rows have changed. Implemented by stores that record which ids each change affects. */
export interface ChangedIds {
  /**
   * Returns a position in the sequence of changes. Any later read of the resource includes all changes up to this
   * position.
   */
  mark(resource: Resource): number;
  /** Returns true if no row in the span changed between the position `mark` and the given versions. */
  isUnchanged(resource: Resource, span: IdSpan, mark: number, versions: Versions): Promise<boolean>;
}
