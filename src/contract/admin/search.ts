import * as z from 'zod';
import { defineOperations, ok } from '../operation.ts';
import { enumSchema, int64Hint, objectSchema } from '../values.ts';
import { searchText } from './values.ts';

const searchedKinds = [
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

/** Maximum number of results of each kind. */
export const maxPerKind = 5;

/** Number of animals that are searched by name, newest first. */
export const maxSearchedAnimals = 10_000;

const matches = ['id', 'name', 'lastFour', 'reference', 'requestId'] as const;

const SearchQuery = z.strictObject({
  text: searchText(255)
    .refine((text) => text.trim() !== '', 'must not be blank')
    .meta({
      description:
        'An id such as `7`; an id prefixed with a kind (`account`, `key`, `animal` or `pet`, `order`, `category`, `webhook`, `operator`) such as `key:7`; part of a name, ignoring case; the last four characters of a key; ' +
        'the beginning of an order reference, case-sensitive; or, in the console and the admin API, the request id of an import or a recent failed request.',
      examples: ['seattle'],
    }),
});

const Found = objectSchema('Found', 'An object found by a search.', {
  kind: enumSchema(searchedKinds).describe('Kind of the object.'),
  id: z
    .bigint()
    .nullable()
    .meta({
      description: `ID of the object. For a failed request, ID of its key, or null if there was no valid key. ${int64Hint}`,
      override: { type: ['integer', 'null'], format: 'int64', examples: [1] },
    }),
  name: z
    .string()
    .nullable()
    .describe(
      'Name of the object, reference of an order, description of a webhook, file name of an import, or request id; null if there is none.',
    ),
  state: z
    .string()
    .nullable()
    .describe(
      'State or status of the object, as shown in lists, or error code of a failed request; null for kinds without a state.',
    ),
  lastFour: z
    .string()
    .nullable()
    .describe("Last four characters of a key or an operator's token; null for other kinds."),
  accountId: z
    .int()
    .min(1)
    .nullable()
    .meta({
      description: 'ID of the account to which a key, webhook or request belongs; null for other kinds.',
      override: { type: ['integer', 'null'], format: 'int64', minimum: 1 },
    }),
  matched: enumSchema(matches).describe('The field that matches the text.'),
});

export const SearchResults = objectSchema('SearchResults', 'Results of a search.', {
  results: z.array(Found).describe(`Objects by kind, at most ${maxPerKind} of each kind.`),
});

export type Found = z.infer<typeof Found>;
export type SearchResults = z.infer<typeof SearchResults>;

function searchJson({ results }: SearchResults): string {
  const items = results.map(({ kind, id, ...others }) => {
    return `{"kind":"${kind}","id":${id},${JSON.stringify(others).slice(1)}`;
  });
  return `{"results":[${items}]}`;
}

export const searchOperations = defineOperations(
  { tag: { name: 'Search', description: 'Search by id or name.' } },
  {
    search: {
      route: 'GET /search',
      summary: 'Find objects by id, name or reference',
      description:
        `Returns at most ${maxPerKind} objects of each kind. Animals are found by id and, among the newest ` +
        `${maxSearchedAnimals.toLocaleString('en')}, by name. Other objects are found by id and name. Imports and recent failed requests on this instance are found by request id.`,
      query: SearchQuery,
      success: ok<SearchResults>(SearchResults, searchJson, 'The results.'),
    },
  },
);
