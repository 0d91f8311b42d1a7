/**
 * Schemas of values, used to validate requests and to generate the OpenAPI document. Integers are `bigint`, so that
 * every int64 is exact.
 */
import * as z from 'zod';
import { maxCursorLength } from './bounds.ts';
import { int64Max, int64Min, maxNumberLength, NotInt64, parseInt64 } from './json.ts';

/** Length of a name, counted in Unicode code points as in JSON Schema. */
const nameLength = { min: 1, max: 255 } as const;

export const pageLimit = { min: 1, max: 100, default: 20 } as const;

// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters
export const controlCharacter = /[\u0000-\u001f\u007f]/;

export const int64Hint = 'A 64-bit integer: parse values above 2^53 without rounding them.';

/** For lists in a query, which `readQuery` joins with commas if they are repeated. */
export const listHint = 'Can also be repeated.';

/** An exact 64-bit integer. `1.0` and `1e2` are integers, as in JSON Schema. */
export function int64(description: string, example: number, bounds: { minimum?: number } = {}) {
  return z
    .bigint({
      error: ({ input }) =>
        input === undefined
          ? 'is required'
          : `must be an integer${rangeHint(input)}, not ${describeType(input)}`,
    })
    .meta({ description, override: { type: 'integer', format: 'int64', ...bounds, examples: [example] } });
}

export function assignedId(description: string) {
  return int64(`${description}, assigned on creation, ascending from 1 and never reused. ${int64Hint}`, 1, {
    minimum: 1,
  });
}

export const count = z
  .int()
  .min(0)
  .meta({ override: { type: 'integer', format: 'int64', minimum: 0 } });

/** A time in UTC with milliseconds (RFC 3339). */
export function instant(description: string) {
  return z.iso.datetime().meta({
    description,
    override: { type: 'string', format: 'date-time', examples: ['2026-11-22T09:30:00.000Z'] },
  });
}

function rangeHint(input: unknown): string {
  return input instanceof NotInt64 ? ` from ${int64Min} to ${int64Max}` : '';
}

const longNumber = `a number of more than ${maxNumberLength} characters`;

export function describeType(input: unknown): string {
  if (input instanceof NotInt64) return input.source.length > maxNumberLength ? longNumber : input.source;
  if (input === null) return 'null';
  if (Array.isArray(input)) return 'an array';
  if (typeof input === 'bigint') return 'a number';
  return typeof input === 'object' ? 'an object' : `a ${typeof input}`;
}

export const textHint =
  'Stored and returned exactly as sent. Must not be blank or contain control characters.';

export function requiredString() {
  return z.string({
    error: ({ input }) =>
      input === undefined ? 'is required' : `must be a string, not ${describeType(input)}`,
  });
}

export function text(description: string, example: string) {
  return requiredString()
    .superRefine((value, context) => {
      for (const message of textErrors(value)) context.addIssue({ code: 'custom', message });
    })
    .meta({
      description: `${description} ${textHint}`,
      examples: [example],
      override: {
        minLength: nameLength.min,
        maxLength: nameLength.max,
        // Avoids lookahead and \\u escapes, which RE2 (Go, Rust) does not support.
        pattern: '^[^\\x00-\\x1F\\x7F]*[^\\s\\x00-\\x1F\\x7F][^\\x00-\\x1F\\x7F]*$',
      },
    });
}

function textErrors(value: string): string[] {
  if (value === '') return ['must not be empty'];
  const mistakes: string[] = [];
  // A code point has one or two UTF-16 code units, so the code points of a short string need not be counted.
  if (value.length > nameLength.max && [...value].length > nameLength.max) {
    mistakes.push(`must have at most ${nameLength.max} characters`);
  }
  if (value.trim() === '') mistakes.push('must not be blank');
  if (controlCharacter.test(value))
    mistakes.push('must not contain control characters (U+0000 to U+001F, U+007F)');
  if (!value.isWellFormed()) mistakes.push('must be well-formed Unicode (it has a lone surrogate)');
  return mistakes;
}

/** Returns the error message for a value outside an enumeration. */
export function enumMessage(words: readonly string[]): string {
  return `must be one of ${words.map((word) => `"${word}"`).join(', ')}`;
}

export function enumSchema<const Words extends readonly string[]>(words: Words) {
  return z.enum(words, { error: enumMessage(words) });
}

export function objectSchema<Members extends z.ZodRawShape>(
  id: string,
  description: string,
  members: Members,
) {
  return z.object(members).meta({ id, description });
}

/** Returns the schema of a request body. Error messages refer to the body as `what`. */
export function bodySchema<Members extends z.ZodRawShape>(
  id: string,
  description: string,
  what: string,
  members: Members,
) {
  const names = Object.keys(members)
    .join(', ')
    .replace(/, (\w+)$/, ' and $1');
  const error = bodyErrorMap(what, names || 'no members');
  return z.strictObject(members, { error }).meta({ id, description });
}

export function bodyErrorMap(what: string, members: string): z.core.$ZodErrorMap {
  return (issue) =>
    issue.code === 'unrecognized_keys'
      ? `is unknown; ${what} has ${members}`
      : `must be a JSON object, not ${describeType(issue.input)}`;
}

/** Returns an example that the reference page omits from sample requests. */
export const omittedExample = (value: unknown) => ({ default: { value, 'x-disabled': true } });

const limitForm = `must be an integer from ${pageLimit.min} to ${pageLimit.max}, in plain decimal digits`;

/** Returns the schema of a list's `limit` in the query. `things` is the plural noun for the items. */
export function limitParameter(things: string) {
  return z
    .string()
    .refine((digits) => /^[1-9]\d{0,2}$/.test(digits) && Number(digits) <= pageLimit.max, limitForm)
    .transform(Number)
    .default(pageLimit.default)
    .meta({
      description: `Maximum number of ${things} to return.`,
      override: {
        type: 'integer',
        format: 'int32',
        minimum: pageLimit.min,
        maximum: pageLimit.max,
        default: pageLimit.default,
      },
      param: { examples: omittedExample(pageLimit.default) },
    });
}

export const cursorParameter = cursorSchema(64);

export const nameCursorParameter = cursorSchema(maxCursorLength);

function cursorSchema(maxLength: number) {
  return z
    .string()
    .optional()
    .meta({
      description:
        'Opaque position of the page. Do not construct cursors: follow the URL in the `Link` header.',
      override: { type: 'string', maxLength },
      param: { 'x-stability': 'beta' },
    });
}

const int64Form = `must be an integer from ${int64Min} to ${int64Max}, in plain decimal digits`;

export const int64FromText = z.string().transform((digits, context) => {
  const value = parseInt64(digits);
  if (value !== undefined) return value;
  context.addIssue({ code: 'custom', message: int64Form });
  return z.NEVER;
});

export function int64Filter(description: string) {
  // `meta` comes last, because `optional()` would drop the metadata.
  return int64FromText.optional().meta({
    description,
    override: { type: 'integer', format: 'int64' },
    param: { 'x-stability': 'beta', examples: omittedExample(1) },
  });
}

/**
 * Returns the schema of a list in a request. The items of a longer list are not validated, because a body can contain
 * thousands of items, and each of them can be a mistake.
 */
export function listInput<Item extends z.ZodType>(list: z.ZodArray<Item>, maxItems: number, message: string) {
  const expectFew = (value: unknown, context: z.RefinementCtx) => {
    if (!Array.isArray(value) || value.length <= maxItems) return value;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  };
  return z.preprocess(expectFew, list);
}

export function pageSchema<Item extends z.ZodType>(item: Item, id: string, description: string) {
  return z.array(item).max(pageLimit.max).meta({ id, description });
}

const NoMembers = bodySchema('NoMembers', 'An empty object.', 'this request', {});

/** Body of a state transition: absent, or an empty object. */
export const emptyBody = { schema: NoMembers, optional: true } as const;
