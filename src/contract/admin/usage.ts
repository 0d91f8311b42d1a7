import * as z from 'zod';
import { okJson, rowsOf } from '../operation.ts';
import { count, enumOf, instant, limitParameter, shape } from '../values.ts';
import { id, since, until } from './values.ts';

const Outcomes = shape('Outcomes', 'Requests by what became of them.', {
  ok: count.meta({ description: 'Answered 2xx or 304.' }),
  refused: count.meta({ description: 'Answered 4xx, other than 429.' }),
  limited: count.meta({ description: 'Answered 429.' }),
  failed: count.meta({ description: 'Answered 5xx.' }),
});

const resolutions = ['hour', 'day'] as const;

export const UsageQuery = z.strictObject({
  since,
  until,
  resolution: enumOf(resolutions)
    .default('hour')
    .meta({ description: 'Hours are kept for 7 days, days for 400.' }),
});

export const UsagePeriod = Outcomes.extend({ from: instant('When the hour or day begins, UTC.') });

export const UsageSeries = z.array(UsagePeriod).meta({
  id: 'UsageSeries',
  description: 'Requests by hour or by day, oldest first; none of those without requests.',
});

const MinutesQuery = z.strictObject({ since, until });

export const MinuteUsage = shape('MinuteUsage', 'The requests of an operation in a minute.', {
  minute: instant('When the minute begins, UTC.'),
  operation: z.string().meta({ description: 'The operation, or `none` for requests of none.' }),
  codes: z.record(z.string(), count).meta({
    description: 'Requests by outcome: `ok`, or the error code.',
    examples: [{ ok: 120, invalid_body: 2 }],
  }),
});

export const Minutes = z
  .array(MinuteUsage)
  .meta({ id: 'Minutes', description: 'Requests by minute and operation, oldest first.' });

const TopCallersQuery = z.strictObject({ since, until, limit: limitParameter('callers') });

export const KeyUsage = Outcomes.extend({
  keyId: id('ID of the key.'),
  keyName: z.string().meta({ description: 'Name of the key.' }),
  keyLastFour: z.string().meta({ description: 'The last four characters of the key.' }),
  accountId: id('ID of the account.'),
  accountName: z.string().meta({ description: 'Name of the account.' }),
  deprecated: count.meta({ description: 'Requests of deprecated operations.' }),
  lastUsedAt: instant('When the key made its last request, UTC, to the minute.'),
}).meta({ id: 'KeyUsage', description: 'The requests of a key.' });

export const TopCallers = z
  .array(KeyUsage)
  .meta({ id: 'TopCallers', description: 'The keys with the most requests, most first.' });

export type UsageSeries = z.infer<typeof UsageSeries>;
export type MinuteUsage = z.infer<typeof MinuteUsage>;
export type KeyUsage = z.infer<typeof KeyUsage>;

export const usageTag = { name: 'Usage', description: 'Who made how many requests.' } as const;

const common = { method: 'GET', tag: usageTag, stability: 'beta', reads: [], errors: [] } as const;

const delay = 'Requests of the last 10 seconds may be missing.';

export const usageOperations = rowsOf(
  {},
  {
    listMinutes: {
      ...common,
      path: '/usage/minutes',
      summary: 'List requests by minute',
      description: `Returns the requests of each operation by minute and outcome, of the last hour unless \`since\` says otherwise. Minutes are kept for 2 days; of a longer time than 6 hours, the last 6 are returned. ${delay}`,
      query: MinutesQuery,
      success: okJson(Minutes, 'The requests, oldest first.'),
    },
    listTopCallers: {
      ...common,
      path: '/usage/callers',
      summary: 'List who makes the most requests',
      description: `Returns the keys with the most requests, of today (UTC) unless \`since\` says otherwise. Whole days are counted, 31 at most. ${delay}`,
      query: TopCallersQuery,
      success: okJson(TopCallers, 'The keys, those with the most requests first.'),
    },
    listDeprecatedCallers: {
      ...common,
      path: '/usage/deprecated',
      summary: 'List who still calls deprecated operations',
      description: `Returns the keys that called a deprecated operation, of the last 30 days unless \`since\` says otherwise. Whole days are counted, 31 at most. ${delay}`,
      query: TopCallersQuery,
      success: okJson(TopCallers, 'The keys, those with the most such requests first.'),
    },
  },
);
