import type { ErrorCode } from '../contract/errors.ts';
import { Refusal } from '../domain/refusal.ts';

/** The thing, or the refusal of a request for one that is not there. */
export function found<T>(thing: T | undefined, otherwise: ErrorCode): T {
  if (thing === undefined) throw new Refusal(otherwise);
  return thing;
}
