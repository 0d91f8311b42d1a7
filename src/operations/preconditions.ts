import { etagOf } from '../contract/etag.ts';
import { Refusal } from '../domain/refusal.ts';

/** What a request demands of the resource it changes (RFC 9110, section 13.1). Plain, for it goes to whoever writes. */
export interface Preconditions {
  /** The entity tags of which the resource has one now; `*`: any, if only it is there. */
  readonly ifMatch?: readonly string[] | '*';
  /** The resource is not there yet (`If-None-Match: *`). */
  readonly isNew?: true;
}

/**
 * Refuses `precondition_failed`. `representation` is the resource as a response would show it; undefined when it is not
 * there. To be called in the transaction that changes the resource: of two clients that read the same, one wins.
 */
export function check({ ifMatch, isNew }: Preconditions, representation: string | undefined): void {
  if (isNew && representation !== undefined) throw failed('it exists already');
  if (ifMatch === undefined) return;
  if (representation === undefined) throw failed('it does not exist');
  if (ifMatch !== '*' && !ifMatch.includes(etagOf(representation)))
    throw failed('its current entity tag is not in If-Match');
}

function failed(why: string): Refusal {
  return new Refusal('precondition_failed', {
    message: `The resource is not in the state that the request requires: ${why}. Read it again, and decide whether the change still applies.`,
  });
}
