/** What options and arguments may be: each reader returns the value, or says what would be right. */
import { InvalidArgumentError } from 'commander';
import type * as z from 'zod';
import { settings } from '../config.ts';
import { validate } from '../contract/validation.ts';
import { int64Parameter, pageLimit } from '../contract/values.ts';
import { maskedUrl } from '../domain/masked-url.ts';
import { type Scope, scopes } from '../domain/scope.ts';
import { CommandError } from './terminal.ts';

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const longestMs = 3_650 * unitMs.d;
/** Longest name of an account or a key, in characters. */
const longestName = 255;

/** A duration such as `30s`, `15m`, `24h` or `90d`, up to ten years, in ms. */
export function duration(text: string): number {
  const ms = durationOrNow(text);
  if (ms === 0) throw new InvalidArgumentError('It must be greater than 0.');
  return ms;
}

/** A duration that may also be `0`: at once. */
export function durationOrNow(text: string): number {
  if (text === '0') return 0;
  const [, count = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  const ms = Number(count) * unitMs[unit as keyof typeof unitMs];
  if (count === '' || ms > longestMs) {
    throw new InvalidArgumentError('It must be a duration such as 30s, 15m, 24h or 90d, at most 3650d.');
  }
  return ms;
}

/** A duration, or `never`. */
export function durationOrNever(text: string): number | 'never' {
  return text === 'never' ? text : duration(text);
}

/** An instant such as `2026-11-22T09:30:00Z`, a day (UTC) such as `2026-11-22`, or a duration before now; Unix ms. */
export function instantOrAgo(text: string): number {
  if (/^\d+[smhd]$/.test(text)) return Date.now() - duration(text);
  const form = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/;
  const ms = form.test(text) && isDay(text.slice(0, 10)) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) {
    throw new InvalidArgumentError(
      'It must be an instant such as 2026-11-22T09:30:00Z, a day such as 2026-11-22, or a duration such as 24h.',
    );
  }
  return ms;
}

/** Whether there is such a day: a parser would take 2026-02-31 for the third of March. */
function isDay(text: string): boolean {
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
}

/** A whole number from 1. */
export function count(text: string): number {
  const value = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(value)) throw new InvalidArgumentError('It must be a positive whole number.');
  return value;
}

/** A port to listen on; 0 is any. */
export function port(text: string): number {
  const value = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value <= 65_535)) throw new InvalidArgumentError('It must be a whole number from 0 to 65535.');
  return value;
}

/** How many items of a list that is read as one page. */
export function atMostAPage(text: string): number {
  const value = count(text);
  if (value > pageLimit.max) throw new InvalidArgumentError(`It must be at most ${pageLimit.max}.`);
  return value;
}

/** How many items of a list, or all of them. */
export function countOrAll(text: string): number | 'all' {
  return text === 'all' ? text : count(text);
}

/** A value that the API takes, too, by the API's own rule. */
export function asInApi<T>(schema: z.ZodType<T>): (text: string) => T {
  return (text) => {
    const validated = validate(schema, text, 'query');
    if ('value' in validated) return validated.value;
    throw new InvalidArgumentError(validated.mistakes.map(({ message }) => `It ${message}.`).join(' '));
  };
}

/** An id of an animal, an order or a category. */
export const int64 = asInApi(int64Parameter('An id.'));

/** An id that the store gives: of an animal or an order, not of a category. */
export function givenId(text: string): bigint {
  const id = int64(text);
  if (id < 0n) throw new InvalidArgumentError('It must not be negative.');
  return id;
}

/** Scopes separated by commas, or `all`. */
export function scopeList(text: string): readonly Scope[] {
  if (text === 'all') return scopes;
  const words = text.split(',').map((word) => word.trim());
  if (!words.every((word) => word !== '' && (scopes as readonly string[]).includes(word))) {
    throw new InvalidArgumentError(
      `It must be a list of scopes separated by commas, or all. Scopes: ${scopes.join(', ')}.`,
    );
  }
  return scopes.filter((scope) => words.includes(scope));
}

/** The name of an account, a key or an operator. */
export function label(text: string): string {
  if (text.startsWith('--'))
    throw new InvalidArgumentError('It must not begin with "--": a value is missing here.');
  if (text.trim() === '' || text.length > longestName || /\p{Cc}/u.test(text)) {
    throw new InvalidArgumentError(
      `It must have 1 to ${longestName} characters, must not be blank, and must not contain control characters.`,
    );
  }
  return text;
}

/**
 * The address of a store, from an option or else from the environment. It is checked here and not by the parser, whose
 * message would repeat it with its password. Throws `CommandError`.
 */
export function storeUrl(
  option: string,
  given: string | undefined,
  variable: string,
  environment: Readonly<Record<string, string | undefined>>,
): string {
  const text = given ?? environment[variable]?.trim();
  if (!text)
    throw new CommandError(
      `Specify the store with ${option} URL or the environment variable ${variable}.`,
      2,
    );
  try {
    return settings.DATABASE_URL.parse(text);
  } catch (error) {
    const name = given === undefined ? variable : option;
    throw new CommandError(`${name} ${(error as Error).message} (got "${maskedUrl(text)}").`, 2);
  }
}
