import type { Refusal } from '../../domain/refusal.ts';
import type { AdminRequest } from '../../operations/admin/admin-operations.ts';
import { fewestCharacters } from '../../operations/operator-once.ts';
import { type Input, refusalOf } from '../input.ts';
import { digestOf } from '../once.ts';

/** What tells an operator's request and its repetitions from others. Refuses `invalid_parameter` for a key that may be guessed. */
export function repeatableOf(
  { idempotencyKey, bytes }: Pick<Input, 'idempotencyKey' | 'bytes'>,
  { method, url }: Request,
): AdminRequest['repeatable'] {
  if (idempotencyKey === undefined) return undefined;
  if (idempotencyKey.length < fewestCharacters) throw tooShort();
  return { idempotencyKey, request: digestOf(method, url, bytes) };
}

function tooShort(): Refusal {
  const message = `must have at least ${fewestCharacters} characters, as a UUID has`;
  return refusalOf([{ in: 'header', name: 'Idempotency-Key', message }]);
}
