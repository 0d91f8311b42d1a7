/** The outcomes by which counters and reports group error codes. */
import { type ErrorCode, errors } from '../../contract/errors.ts';
import type { OutcomeCounts } from '../../storage/admin.ts';

export type OutcomeName = keyof OutcomeCounts;

/**
 * The outcome for an error code or `ok`. An error code known only to other versions of the service counts as refused.
 */
export function outcomeOf(code: string): OutcomeName {
  if (code === 'ok') return 'ok';
  const status = Object.hasOwn(errors, code) ? errors[code as ErrorCode].status : 400;
  if (status >= 500) return 'failed';
  return status === 429 ? 'limited' : 'refused';
}
