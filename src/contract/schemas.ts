/**
 * The shapes clients send and receive, as zod schemas: requests are validated by them, and the OpenAPI document
 * is generated from them. Integers are `bigint`, so that every int64 stays exact.
 */
import * as z from 'zod';
import { maxDetails } from './bounds.ts';
import { errors } from './errors.ts';
import { int64Max, int64Min, NotInt64 } from './json.ts';

/** Bounds of `name`, in Unicode code points, as JSON Schema counts them. */
export const nameLength = { min: 1, max: 255 } as const;

/** Bounds of the list operation's `limit`, in animals. */
export const pageLimit = { min: 1, max: 100, default: 20 } as const;

export const petStatuses = ['available', 'pending', 'sold'] as const;

const statusForm = `must be one of ${petStatuses.map((status) => `"${status}"`).join(', ')}`;

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const controlCharacter = /[\u0000-\u001f\u007f]/;

export const PetStatus = z
  .enum(petStatuses, { error: statusForm })
  .meta({ id: 'PetStatus', description: 'Whether the animal can be bought.' });

/** An exact 64-bit integer; `1.0` and `1e2` are integers, as JSON Schema defines them. */
export function int64(description: string, example: number, bounds: { minimum?: number } = {}) {
  return z
    .bigint({
      error: ({ input }) =>
        input === undefined ? 'is required' : `must be an integer${rangeHint(input)}, not ${kindOf(input)}`,
    })
    .meta({ description, override: { type: 'integer', format: 'int64', ...bounds, examples: [example] } });
}

function rangeHint(input: unknown): string {
  return input instanceof NotInt64 ? ` from ${int64Min} to ${int64Max}` : '';
}

function kindOf(input: unknown): string {
  if (input instanceof NotInt64) return input.source.length > 40 ? 'a number this large' : input.source;
  if (input === null) return 'null';
  if (Array.isArray(input)) return 'an array';
  if (typeof input === 'bigint') return 'a number';
  return typeof input === 'object' ? 'an object' : `a ${typeof input}`;
}

const name = z
  .string({
    error: ({ input }) => (input === undefined ? 'is required' : `must be a string, not ${kindOf(input)}`),
  })
  .superRefine((value, context) => {
    for (const message of mistakesInName(value)) context.addIssue({ code: 'custom', message });
  })
  .meta({
    description:
      "The animal's name, stored and returned exactly as sent. Must not be blank or contain control characters.",
    examples: ['Ozzy'],
    override: {
      minLength: nameLength.min,
      maxLength: nameLength.max,
      // Without lookahead and \\u escapes, for RE2 (Go, Rust) has neither.
      pattern: '^[^\\x00-\\x1F\\x7F]*[^\\s\\x00-\\x1F\\x7F][^\\x00-\\x1F\\x7F]*$',
    },
  });

function mistakesInName(value: string): string[] {
  if (value === '') return ['must not be empty'];
  const mistakes: string[] = [];
  // A code point is one or two UTF-16 units, so a short string needs no count.
  if (value.length > nameLength.max && [...value].length > nameLength.max) {
    mistakes.push(`must have at most ${nameLength.max} characters`);
  }
  if (value.trim() === '') mistakes.push('must not be blank');
  if (controlCharacter.test(value))
    mistakes.push('must not contain control characters (U+0000 to U+001F, U+007F)');
  if (!value.isWellFormed()) mistakes.push('must be well-formed Unicode (it has a lone surrogate)');
  return mistakes;
}

const int64Hint = 'A 64-bit integer: parse values above 2^53 without rounding them.';

const categoryId = int64(`ID of the category that the animal belongs to. ${int64Hint}`, 1);

const newPetError: z.core.$ZodErrorMap = (issue) =>
  issue.code === 'unrecognized_keys'
    ? 'is unknown; a new animal has name, categoryId and status'
    : `must be a JSON object, not ${kindOf(issue.input)}`;

const newStatus = PetStatus.default('available').meta({
  description: 'Whether the animal can be bought; `available` when omitted.',
});

export const NewPet = z
  .strictObject({ name, categoryId, status: newStatus }, { error: newPetError })
  .meta({ id: 'NewPet', description: 'An animal to add.' });

// What the service sends may gain members within v1, so clients are not promised that there are no others.
export const Pet = z
  .object({
    id: int64(`Unique ID, assigned on creation, ascending from 1 and never reused. ${int64Hint}`, 1, {
      minimum: 1,
    }),
    name,
    categoryId,
    status: PetStatus,
  })
  .meta({ id: 'Pet', description: 'An animal in the store.' });

export const Pets = z.array(Pet).max(pageLimit.max).meta({ id: 'Pets', description: 'A page of animals.' });

const limitForm = `must be an integer from ${pageLimit.min} to ${pageLimit.max}, in plain decimal digits`;

/** An example that the reference page leaves out of its requests: nobody means to filter by copying one. */
const unselected = (value: unknown) => ({ default: { value, 'x-disabled': true } });

/** The list operation's query; values arrive as text. */
export const ListPetsQuery = z.strictObject({
  limit: z
    .string()
    .refine((text) => /^[1-9]\d{0,2}$/.test(text) && Number(text) <= pageLimit.max, limitForm)
    .transform(Number)
    .default(pageLimit.default)
    .meta({
      description: 'Maximum number of animals to return.',
      override: {
        type: 'integer',
        format: 'int32',
        minimum: pageLimit.min,
        maximum: pageLimit.max,
        default: pageLimit.default,
      },
      param: { examples: unselected(pageLimit.default) },
    }),
  status: PetStatus.optional().meta({
    description: 'Return only animals with this status.',
    param: { examples: unselected('available') },
  }),
  cursor: z
    .string()
    .optional()
    .meta({
      description: 'Opaque position of the page. Do not construct it: follow the URL in the `Link` header.',
      override: { type: 'string', maxLength: 64 },
      param: { 'x-stability': 'beta' },
    }),
});

export const ErrorDetail = z
  .object({
    in: z
      .enum(['body', 'query', 'header'])
      .meta({ description: 'Part of the request that has the mistake.' }),
    name: z
      .string()
      .meta({ description: 'Name of the member, parameter or header. Empty for the body as a whole.' }),
    message: z.string().meta({ description: 'What is wrong and what is expected.' }),
  })
  .meta({ id: 'ErrorDetail', description: 'One mistake in the request.', 'x-stability': 'beta' });

const errorCodes = Object.keys(errors) as [keyof typeof errors];

export const ErrorBody = z
  .object({
    code: z.enum(errorCodes).meta({ description: 'Machine-readable error code. New codes may be added.' }),
    message: z.string().meta({ description: 'Human-readable description.' }),
    status: z
      .int()
      .min(400)
      .max(599)
      .meta({ description: 'The HTTP status code of the response.', override: { format: 'int32' } }),
    details: z
      .array(ErrorDetail)
      .max(maxDetails)
      .optional()
      .meta({
        description: `The mistakes in the request, on 400 and 415. Lists the first ${maxDetails}; \`message\` counts the rest.`,
      }),
  })
  .meta({ id: 'Error', description: 'An error.' });

export type PetStatus = z.infer<typeof PetStatus>;
export type NewPet = z.infer<typeof NewPet>;
export type Pet = z.infer<typeof Pet>;
export type ListPetsQuery = z.infer<typeof ListPetsQuery>;

/** An animal as JSON, with its integers digit for digit; members in the order the contract states. */
export function petJson({ id, name, categoryId, status }: Pet): string {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}
