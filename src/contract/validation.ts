import type * as z from 'zod';
import type { ErrorDetail } from './errors.ts';
import { NotInt64 } from './json.ts';

export type ValidationResult<T> = { readonly value: T } | { readonly mistakes: ErrorDetail[] };

/** Validates a value and converts each validation error to an error detail. */
export function validate<T>(
  schema: z.ZodType<T>,
  value: unknown,
  where: ErrorDetail['in'],
): ValidationResult<T> {
  // Without this conversion, schemas would report a `NotInt64` as an object instead of a number.
  const result = schema.safeParse(value instanceof NotInt64 ? Number.NaN : value);
  if (result.success) return { value: result.data };
  const mistakes = result.error.issues.flatMap((issue): ErrorDetail[] => {
    const names = issue.code === 'unrecognized_keys' ? issue.keys : [issue.path.join('.')];
    return names.map((name) => ({ in: where, name, message: issue.message }));
  });
  return { mistakes };
}
