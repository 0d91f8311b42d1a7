/** Parsers of options and arguments. Each returns the value, or throws an error that describes the expected format. */

import { InvalidArgumentError } from 'commander';
import type * as z from 'zod';
import * as settings from '../config/parsers.ts';
import { validate } from '../contract/validation.ts';
import { int64FromText, pageLimit, text as textOf } from '../contract/values.ts';
import { dayMs, msPerUnit } from '../domain/clock.ts';
import { type EventSelector, eventSelectors } from '../domain/event-type.ts';
import { type Scope, scopes } from '../domain/scope.ts';

const maxDurationMs = 3_650 * dayMs;

/** Parses a duration such as `30s`, `15m`, `24h` or `90d`, up to ten years. Returns ms. */
export function parseDuration(text: string): number {
  const ms = parseDurationOrNow(text);
  if (ms === 0) throw new InvalidArgumentError('It must be greater than 0.');
  return ms;
}

export function parseDurationOrNow(text: string): number {
  if (text === '0') return 0;
  const [, count = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const ms = Number(count) * (msPerUnit[unit] ?? 0);
  if (count === '' || ms > maxDurationMs) {
    throw new InvalidArgumentError('It must be a duration such as 30s, 15m, 24h or 90d, at most 3650d.');
  }
  return ms;
}

export function parseDurationOrNever(text: string): number | 'never' {
  return text === 'never' ? text : parseDuration(text);
}

/** Parses a time (`2026-11-22T09:30:00Z`), a UTC day (`2026-11-22`) or a duration before now. Returns Unix ms. */
export function parseTimeOrAge(text: string): number {
  if (/^\d+[smhd]$/.test(text)) return Date.now() - parseDuration(text);
  const form = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/;
  const ms = form.test(text) && isDay(text.slice(0, 10)) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) {
    throw new InvalidArgumentError(
      'It must be a time such as 2026-11-22T09:30:00Z, a day such as 2026-11-22, or a duration such as 24h.',
    );
  }
  return ms;
}

/** Whether the text is a valid date. `Date.parse` would accept 2026-02-31 as March 3. */
function isDay(text: string): boolean {
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
}

export function parsePositiveInteger(text: string): number {
  const value = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) throw new InvalidArgumentError('It must be a positive whole number.');
  return value;
}

export function parseHost(text: string): string {
  try {
    return settings.host(text);
  } catch (error) {
    throw new InvalidArgumentError(`It ${(error as Error).message}.`);
  }
}

export function parsePort(text: string): number {
  const value = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value <= 65_535)) throw new InvalidArgumentError('It must be a whole number from 0 to 65535.');
  return value;
}

export function parsePageSize(text: string): number {
  const value = parsePositiveInteger(text);
  if (value > pageLimit.max) throw new InvalidArgumentError(`It must be at most ${pageLimit.max}.`);
  return value;
}

export function parseCountOrAll(text: string): number | 'all' {
  return text === 'all' ? text : parsePositiveInteger(text);
}

/** Parses a value with a schema. Throws `InvalidArgumentError` with the schema's messages. */
export function parseWithSchema<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = validate(schema, value, 'query');
  if ('value' in result) return result.value;
  throw new InvalidArgumentError(result.mistakes.map(({ message }) => `It ${message}.`).join(' '));
}

export function createSchemaParser<T>(schema: z.ZodType<T>): (text: string) => T {
  return (text) => parseWithSchema(schema, text);
}

/** Rejects text that begins with `--`, because it is the next option, not a value. */
export function parseNonOption(text: string): string {
  if (!text.startsWith('--')) return text;
  throw new InvalidArgumentError('The value is missing. A value must not begin with "--".');
}

export function parseBoolean(text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  throw new InvalidArgumentError('It must be true or false.');
}

export const parseInt64Argument = createSchemaParser(int64FromText);

/** Parses an id that the store assigns, such as an animal's or an order's, but not a category's. */
export function parseAssignedId(text: string): bigint {
  const id = parseInt64Argument(text);
  if (id < 0n) throw new InvalidArgumentError('It must not be negative.');
  return id;
}

export function parseScopeList(text: string): readonly Scope[] {
  if (text === 'all') return scopes;
  const words = text.split(',').map((word) => word.trim());
  if (!words.every((word) => word !== '' && (scopes as readonly string[]).includes(word))) {
    throw new InvalidArgumentError(
      `It must be a comma-separated list of scopes, or all. Scopes: ${scopes.join(', ')}.`,
    );
  }
  return scopes.filter((scope) => words.includes(scope));
}

/** Parses comma-separated event selectors. `pet.*` selects all events about animals. */
export function parseEventSelectors(text: string): readonly EventSelector[] {
  const words = text.split(',').map((word) => word.trim());
  const chosen = eventSelectors.filter((selector) => words.includes(selector));
  if (words.every((word) => (chosen as readonly string[]).includes(word))) return chosen;
  throw new InvalidArgumentError(
    `It must be a comma-separated list of types. Types: ${eventSelectors.join(', ')}.`,
  );
}

const nameSchema = textOf('A name.', '');

export function parseName(text: string): string {
  return parseWithSchema(nameSchema, parseNonOption(text));
}
