import { ApiError } from '../../contract/api-error.ts';
import { computeEtag } from '../../contract/caching.ts';

/**
 * Preconditions of a change (RFC 9110, section 13.1). Plain values, because the change may run in another
 * process.
 */
export interface Preconditions {
  /** Entity tags, one of which must be current. `*` requires that the resource exists. */
  readonly ifMatch?: readonly string[] | '*';
  /** Requires that the resource does not exist (`If-None-Match: *`). */
  readonly isNew?: true;
}

/**
 * Throws `precondition_failed`. Must be called in the transaction that makes the change, so that only one of two
 * clients that read the same version succeeds.
 */
export function checkPreconditions(
  { ifMatch, isNew }: Preconditions,
  representation: string | undefined,
): void {
  if (isNew && representation !== undefined) throw preconditionError('it already exists');
  if (ifMatch === undefined) return;
  if (representation === undefined) throw preconditionError('it does not exist');
  if (ifMatch !== '*' && !ifMatch.includes(computeEtag(representation)))
    throw preconditionError('its current entity tag is not in If-Match');
}

function preconditionError(why: string): ApiError {
  return new ApiError('precondition_failed', {
    message: `The resource is not in the state that the request requires: ${why}. Read it again, and decide whether the change still applies.`,
  });
}
