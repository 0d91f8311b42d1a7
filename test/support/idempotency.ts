import { expect } from 'bun:test';
import type { Answer, CallOptions } from './call.ts';

let keys = 0;

/** An `Idempotency-Key` that was never used. */
export const freshKey = () => `key-${++keys}`;

/** Options of a request with an `Idempotency-Key`. */
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

/** The `Idempotent-Replayed` header, or null if absent. */
export const isReplayed = (answer: Answer) => answer.headers.get('Idempotent-Replayed');

export function expectReplay(again: Answer, first: Answer): void {
  expect(said(again)).toEqual(said(first));
  expect([isReplayed(first), isReplayed(again)]).toEqual([null, 'true']);
}
