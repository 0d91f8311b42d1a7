import type { RandomBytes } from '../domain/key.ts';

/** A client's own; one with a key or another secret in it is not taken, for ids are logged and secrets are not. */
const ownRequestId = /^(?!.*as[kosp]_[0-9A-Za-z]{38})[A-Za-z0-9._-]{1,64}$/;

/** The id of a request: the client's own if it can be taken, else a new one. */
export function requestIdOf({ headers }: Request, make: () => string): string {
  const sent = headers.get('x-request-id');
  return sent !== null && ownRequestId.test(sent) ? sent : make();
}

/** Makes request ids: a random part for the process and a count within it. */
export function requestIds(randomBytes: RandomBytes): () => string {
  const processPart = Buffer.from(randomBytes(9)).toString('base64url').replace(/_/g, '.');
  let count = 0;
  return () => `${processPart}-${++count}`;
}
