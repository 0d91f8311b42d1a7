import * as z from 'zod';
import { planNames } from '../../domain/plan.ts';
import { enumSchema, int64, int64Hint, requiredString, text } from '../values.ts';

export const id = (description: string) =>
  z
    .int()
    .min(1)
    .meta({ description, override: { type: 'integer', format: 'int64', minimum: 1 }, examples: [1] });

export const idParameter = (description: string) => int64(`${description} ${int64Hint}`, 1);

/** Text to search or filter by. NUL is rejected, because PostgreSQL does not accept it in text. */
export function searchText(maxLength: number) {
  return requiredString()
    .max(maxLength, `must have at most ${maxLength} characters`)
    .refine((value) => !value.includes('\0'), 'must not contain the control character U+0000');
}

export const nameSchema = (what: string, example: string) => text(`Name of the ${what}.`, example);

export const PlanName = enumSchema(planNames).meta({
  id: 'Plan',
  description: 'Plan of an account. Only `enterprise` has custom limits.',
});

const instantForm = 'must be an instant such as 2026-11-22T09:30:00Z';

/** A time in a query or a body, in Unix ms. */
export const instantInput = (description: string) =>
  z.iso
    .datetime({ offset: true, error: instantForm })
    .transform((value) => Date.parse(value))
    .meta({
      description,
      override: { type: 'string', format: 'date-time' },
      examples: ['2026-11-22T09:30:00Z'],
    });

/** Whether a query's `until` is before its `since`, so that nothing can match. */
export function hasReversedRange(query: unknown): boolean {
  const { since, until } = (query ?? {}) as { readonly since?: unknown; readonly until?: unknown };
  return typeof since === 'number' && typeof until === 'number' && until < since;
}

export const since = instantInput('Return only items at or after this time.').optional();
export const until = instantInput('Return only items before this time.').optional();
