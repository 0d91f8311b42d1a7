import type * as z from 'zod';
import type { ErrorDetail } from './errors.ts';
import { NotInt64 } from './json.ts';

export type Validated<T> = { readonly value: T } | { readonly mistakes: ErrorDetail[] };

/** Validates a value and converts every mistake to an error detail. */
export function validate<T>(schema: z.ZodType<T>, value: unknown, where: ErrorDetail['in']): Validated<T> {
  // Otherwise a number that is not an int64 would count as an object, because of its class.
  const result = schema.safeParse(value instanceof NotInt64 ? Number.NaN : value);
  if (result.success) return { value: result.data };
  const mistakes = result.error.issues.flatMap((issue): ErrorDetail[] => {
    const names = issue.code === 'unrecognized_keys' ? issue.keys : [issue.path.join('.')];
    return names.map((name) => ({ in: where, name, message: issue.message }));
  });
  return { mistakes };
}
