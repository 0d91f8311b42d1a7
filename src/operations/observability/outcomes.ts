/** Outcomes of requests by error code, as counters and reports divide them. */
import { type ErrorCode, errors } from '../../contract/errors.ts';
import type { OutcomeCounts } from '../../storage/admin.ts';

export type OutcomeName = keyof OutcomeCounts;

/** The outcome of requests with an error code, or `ok`. A code of another version of the service counts as refused. */
export function outcomeOf(code: string): OutcomeName {
  if (code === 'ok') return 'ok';
  const status = Object.hasOwn(errors, code) ? errors[code as ErrorCode].status : 400;
  if (status >= 500) return 'failed';
  return status === 429 ? 'limited' : 'refused';
}
