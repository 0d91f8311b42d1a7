import * as z from 'zod';
import { ok, rowsOf } from '../operation.ts';
import { enumOf, int64Hint, requiredString, shape } from '../values.ts';

export const searchedKinds = [
  'account',
  'key',
  'animal',
  'order',
  'category',
  'webhook',
  'operator',
  'import',
  'request',
] as const;

/** Results of each kind at most. */
export const maxPerKind = 5;

/** Animals whose names are searched. */
export const namedAnimals = 10_000;

const matches = ['id', 'name', 'lastFour', 'reference', 'requestId'] as const;

const SearchQuery = z.strictObject({
  text: requiredString()
    .max(255, 'must have at most 255 characters')
    .refine((text) => text.trim() !== '', 'must not be blank')
    .meta({
      description:
        'An id, as `7` or, of one kind (`account`, `key`, `animal` or `pet`, `order`, `category`, `webhook`, `operator`), `key:7`; a part of a name, in upper or lower case; the last four characters of a key; ' +
        'the beginning of the reference of an order, as it was written; or the request id of an import or a recent failed request.',
      examples: ['seattle'],
    }),
});

const Found = shape('Found', 'An object that a search found.', {
  kind: enumOf(searchedKinds).meta({ description: 'Kind of the object.' }),
  id: z
    .bigint()
    .nullable()
    .meta({
      description: `Its ID; of a failed request, that of its key, or null without a valid key. ${int64Hint}`,
      override: { type: ['integer', 'null'], format: 'int64', examples: [1] },
    }),
  name: z.string().nullable().meta({
    description:
      'Its name, the reference of an order, the description of a webhook, the file of an import, or the request id; null for none.',
  }),
  state: z.string().nullable().meta({
    description:
      'Its state or status, as its own list names it, or the error code of a request; null for a kind without one.',
  }),
  lastFour: z.string().nullable().meta({
    description: 'The last four characters of a key or of the token of an operator; else null.',
  }),
  accountId: z
    .int()
    .min(1)
    .nullable()
    .meta({
      description: 'ID of the account of a key, a webhook or a request; else null.',
      override: { type: ['integer', 'null'], format: 'int64', minimum: 1 },
    }),
  matched: enumOf(matches).meta({ description: 'What of it the text is, or is in.' }),
});

export const SearchResults = shape('SearchResults', 'What a search found.', {
  results: z.array(Found).meta({ description: `The objects by kind, at most ${maxPerKind} of each.` }),
});

export type Found = z.infer<typeof Found>;
export type SearchResults = z.infer<typeof SearchResults>;

function searchJson({ results }: SearchResults): string {
  const items = results.map(({ kind, id, ...others }) => {
    return `{"kind":"${kind}","id":${id},${JSON.stringify(others).slice(1)}`;
  });
  return `{"results":[${items}]}`;
}

export const searchOperations = rowsOf(
  { tag: { name: 'Search', description: 'One search for everything that has an id or a name.' } },
  {
    search: {
      method: 'GET',
      path: '/search',
      summary: 'Find objects by id, name or reference',
      description:
        `Returns at most ${maxPerKind} objects of each kind. Animals are found by id, and by name among the newest ` +
        `${namedAnimals.toLocaleString('en')}; all others by id and name. The imports and the recent failed requests of this instance are found by their request id.`,
      query: SearchQuery,
      success: ok<SearchResults>(SearchResults, searchJson, 'What was found.'),
    },
  },
);
