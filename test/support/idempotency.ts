import { expect } from 'bun:test';
import type { Answer, CallOptions } from './call.ts';

let keys = 0;

/** Returns an `Idempotency-Key` that has not been used before. */
export const freshKey = () => `key-${++keys}`;

/** Options for a request with this `Idempotency-Key`. */
export const under = (key: string, more: CallOptions = {}): CallOptions => ({
  ...more,
  headers: { ...more.headers, 'Idempotency-Key': key },
});

/** The parts of a response that a replay repeats. */
export const said = (answer: Answer) => ({
  status: answer.status,
  body: answer.text,
  location: answer.headers.get('Location'),
  etag: answer.headers.get('ETag'),
});

/** The value of the `Idempotent-Replayed` header. Null if the header is absent. */
export const isReplayed = (answer: Answer) => answer.headers.get('Idempotent-Replayed');

export function expectReplay(again: Answer, first: Answer): void {
  expect(said(again)).toEqual(said(first));
  expect([isReplayed(first), isReplayed(again)]).toEqual([null, 'true']);
}
