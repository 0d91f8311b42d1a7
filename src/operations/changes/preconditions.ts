import { etagOf } from '../../contract/caching.ts';
import { Refusal } from '../../contract/refusal.ts';

/** What a request demands of the resource it changes (RFC 9110, section 13.1). Plain values, because the change may be made in another process. */
export interface Preconditions {
  /** The entity tags of which the resource has one now; `*`: any, if only it is there. */
  readonly ifMatch?: readonly string[] | '*';
  /** The resource is not there yet (`If-None-Match: *`). */
  readonly isNew?: true;
}

/** Refuses `precondition_failed`. Call it in the transaction of the change: of two clients that read the same, one wins. */
export function checkPreconditions(
  { ifMatch, isNew }: Preconditions,
  representation: string | undefined,
): void {
  if (isNew && representation !== undefined) throw preconditionRefusal('it exists already');
  if (ifMatch === undefined) return;
  if (representation === undefined) throw preconditionRefusal('it does not exist');
  if (ifMatch !== '*' && !ifMatch.includes(etagOf(representation)))
    throw preconditionRefusal('its current entity tag is not in If-Match');
}

function preconditionRefusal(why: string): Refusal {
  return new Refusal('precondition_failed', {
    message: `The resource is not in the state that the request requires: ${why}. Read it again, and decide whether the change still applies.`,
  });
}
