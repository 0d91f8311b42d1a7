import * as z from 'zod';
import { defineOperations, okJson } from '../operation.ts';
import { count, enumSchema, instant, int64Filter, limitParameter, objectSchema } from '../values.ts';
import { id, searchText, since, until } from './values.ts';

const Outcomes = objectSchema('Outcomes', 'Requests by outcome.', {
  ok: count.describe('Responses with 2xx or 304.'),
  refused: count.describe('Responses with 4xx other than 429.'),
  limited: count.describe('Responses with 429.'),
  failed: count.describe('Responses with 5xx.'),
});

const resolutions = ['hour', 'day'] as const;

export const UsageQuery = z.strictObject({
  since,
  until,
  resolution: enumSchema(resolutions)
    .default('hour')
    .describe('Length of a period. Hourly data is kept for 7 days, daily data for 400 days.'),
});

export const UsagePeriod = Outcomes.extend({ from: instant('Start of the hour or day (UTC).') });

export const UsageSeries = z.array(UsagePeriod).meta({
  id: 'UsageSeries',
  description: 'Requests by hour or by day, oldest first. Periods without requests are omitted.',
});

const MinutesQuery = z.strictObject({ since, until });

const codes = z.record(z.string(), count).meta({
  description: 'Requests by outcome: `ok`, or the error code.',
  examples: [{ ok: 120, invalid_body: 2 }],
});

export const MinuteUsage = objectSchema('MinuteUsage', 'Requests to one operation within one minute.', {
  minute: instant('Start of the minute (UTC).'),
  operation: z.string().describe('The operation, or `none` if the request matches none.'),
  codes,
});

const Minutes = z
  .array(MinuteUsage)
  .meta({ id: 'Minutes', description: 'Requests by minute and operation, oldest first.' });

export const usageSteps = ['1m', '5m', '1h', '6h', '1d'] as const;

const microseconds = (share: string) =>
  z
    .number()
    .min(0)
    .nullable()
    .describe(`Latency that ${share} of the requests did not exceed, in microseconds.`);

export const TrafficInterval = Outcomes.extend({
  from: instant('Start of the interval (UTC).'),
  p50: microseconds('half'),
  p95: microseconds('95 %'),
  p99: microseconds('99 %'),
}).meta({ id: 'TrafficStep', description: 'Request counts and latency for one interval.' });

const TrafficHistory = z.array(TrafficInterval).meta({
  id: 'TrafficHistory',
  description:
    'Request counts and latency by interval, oldest first; intervals without requests are omitted.',
});

const HistoryQuery = z.strictObject({
  since,
  until,
  step: enumSchema(usageSteps)
    .default('1m')
    .describe(
      'Length of the intervals. Data for minute intervals is kept for 2 days, and for hour and day intervals for 35 days. Each interval begins at a multiple of its length (UTC).',
    ),
});

export const OperationUsage = objectSchema('OperationUsage', 'Requests to one operation.', {
  operation: z.string().describe('The operation, or `none` if the requests match none.'),
  codes,
});

const OperationUsages = z
  .array(OperationUsage)
  .meta({ id: 'OperationUsages', description: 'Requests by operation, most frequent first.' });

export const KeyOperationUsage = objectSchema(
  'KeyOperationUsage',
  'Requests made with one key to one operation on one day.',
  {
    from: instant('Start of the day (UTC).'),
    operation: z.string().describe('The operation, or `none` if the requests match none.'),
    requests: count.describe('Number of requests, regardless of outcome.'),
  },
);

export const KeyOperationUsages = z.array(KeyOperationUsage).meta({
  id: 'KeyOperationUsages',
  description: 'Requests by day and operation, oldest first.',
});

const FailedRequestsQuery = z.strictObject({
  keyId: int64Filter('Return only requests made with this key.'),
  requestId: searchText(200).optional().describe('Return only requests with this `X-Request-Id`.'),
  limit: limitParameter('requests'),
});

export const FailedRequest = objectSchema('FailedRequest', 'A request whose response was not 2xx or 304.', {
  at: instant('Time of the response (UTC).'),
  requestId: z.string().describe('`X-Request-Id` of the request.'),
  operation: z.string().describe('The operation, or `none` if the request matches none.'),
  status: z.int().describe('Status of the response.'),
  code: z.string().describe('Error code of the response.'),
  keyId: id('ID of the key; null if there was no valid key.').nullable(),
  accountId: id('ID of the account; null if there was no valid key.').nullable(),
});

const FailedRequestList = z
  .array(FailedRequest)
  .meta({ id: 'FailedRequests', description: 'Failed requests, newest first.' });

const TopCallersQuery = z.strictObject({ since, until, limit: limitParameter('callers') });

export const KeyUsage = Outcomes.extend({
  keyId: id('ID of the key.'),
  keyName: z.string().describe('Name of the key.'),
  keyLastFour: z.string().describe('The last four characters of the key.'),
  accountId: id('ID of the account.'),
  accountName: z.string().describe('Name of the account.'),
  deprecated: count.describe('Requests to deprecated operations.'),
  lastUsedAt: instant('Time of the last request with the key (UTC), to the minute.'),
}).meta({ id: 'KeyUsage', description: 'Requests made with one key.' });

const TopCallers = z
  .array(KeyUsage)
  .meta({ id: 'TopCallers', description: 'The keys with the most requests, in descending order.' });

export type UsageSeries = z.infer<typeof UsageSeries>;
export type UsageStep = (typeof usageSteps)[number];
export type TrafficInterval = z.infer<typeof TrafficInterval>;
export type OperationUsage = z.infer<typeof OperationUsage>;
export type KeyOperationUsage = z.infer<typeof KeyOperationUsage>;
export type FailedRequest = z.infer<typeof FailedRequest>;
export type MinuteUsage = z.infer<typeof MinuteUsage>;
export type KeyUsage = z.infer<typeof KeyUsage>;

export const usageTag = { name: 'Usage', description: 'Requests by key, operation and time.' } as const;

const delay = 'Requests in the last 10 seconds may be missing.';

export const usageOperations = defineOperations(
  { tag: usageTag },
  {
    listMinutes: {
      route: 'GET /usage/minutes',
      summary: 'List requests by minute',
      description: `Returns the number of requests to each operation, by minute and outcome. \`since\` defaults to one hour ago. Per-minute data is kept for 2 days. Returns at most the last 6 hours. ${delay}`,
      query: MinutesQuery,
      success: okJson(Minutes, 'The request counts, oldest first.'),
    },
    getTrafficHistory: {
      route: 'GET /usage/history',
      summary: 'Get requests and latency over time',
      description: `Returns request counts by outcome, and latency, for each interval, totaled across all instances. Without \`since\`, it returns the last hour for \`1m\`, the last day for \`5m\`, 7 days for \`1h\`, and 30 days for \`6h\` and \`1d\`. Returns at most the last 1,000 intervals. ${delay}`,
      query: HistoryQuery,
      success: okJson(TrafficHistory, 'The request counts and latency, oldest first.'),
    },
    listOperationUsage: {
      route: 'GET /usage/operations',
      summary: 'List requests by operation',
      description: `Returns the number of requests to each operation, by outcome. \`since\` defaults to one hour ago. Totals for up to 6 hours consist of whole minutes from the last 2 days; totals for longer periods consist of whole hours from the last 35 days. ${delay}`,
      query: MinutesQuery,
      success: okJson(OperationUsages, 'The request counts, most frequently used operation first.'),
    },
    listFailedRequests: {
      route: 'GET /usage/failed-requests',
      summary: 'List recent failed requests',
      description:
        'Returns the latest requests that failed on this instance since it started. Each process keeps the last 25 failed requests for each of the 400 keys with the most recent failures, and the last 25 without a valid key.',
      query: FailedRequestsQuery,
      success: okJson(FailedRequestList, 'The requests, newest first.'),
    },
    listTopCallers: {
      route: 'GET /usage/callers',
      summary: 'List the keys with the most requests',
      description: `Returns the keys with the most requests, today (UTC) or from \`since\`. Covers whole days only, up to 31. ${delay}`,
      query: TopCallersQuery,
      success: okJson(TopCallers, 'The keys, most requests first.'),
    },
    listDeprecatedCallers: {
      route: 'GET /usage/deprecated',
      summary: 'List callers of deprecated operations',
      description: `Returns the keys that called a deprecated operation, in the last 30 days or from \`since\`. Covers whole days only, up to 31. ${delay}`,
      query: TopCallersQuery,
      success: okJson(
        TopCallers,
        'The keys, ordered by number of requests to deprecated operations, highest first.',
      ),
    },
  },
);
