import { Refusal } from '../domain/refusal.ts';

/** What a request demands of the resource it changes (RFC 9110, section 13.1). */
export interface Preconditions {
  /** Entity tags, one of which the resource has now; `*`: it is there. */
  readonly ifMatch?: readonly string[] | '*' | undefined;
  /** It is not there yet (`If-None-Match: *`). */
  readonly isNew?: boolean | undefined;
}
