import type { Operation, Page, SuccessStatus } from './operation.ts';

/** A success as every way into the service shows it. */
export interface Result {
  readonly status: SuccessStatus;
  /** Undefined for none. */
  readonly body: string | undefined;
  /** What the entity tag is derived from; undefined for the body. */
  readonly tagged?: string | undefined;
  /** The path of what was made, below `basePath`. */
  readonly location: string | undefined;
  /** The cursor of a list's next page. */
  readonly next: string | undefined;
}

/** The result of an operation that came to this outcome, which is its own. */
export function resultOf({ success, paginated }: Operation, outcome: unknown): Result {
  const { statusOf, json, location, tagged } = success;
  const its = outcome as never;
  return {
    status: statusOf(its),
    body: json?.(its),
    tagged: tagged?.(its),
    location: location?.(its),
    next: paginated && (outcome as Page<unknown>).next,
  };
}
