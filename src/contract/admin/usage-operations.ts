import { type Operation, shown } from '../operation.ts';
import { Minutes, MinutesQuery, TopCallers, TopCallersQuery } from './usage.ts';

const common = { method: 'GET', tag: 'Usage', stability: 'beta', reads: [], errors: [] } as const;

const delay = 'Requests of the last 10 seconds may be missing.';

export const usageOperations = {
  listMinutes: {
    ...common,
    operationId: 'listMinutes',
    path: '/usage/minutes',
    summary: 'List requests by minute',
    description: `Returns the requests of each operation by minute and outcome, of the last hour unless \`since\` says otherwise. Minutes are kept for 2 days; of a longer time than 6 hours, the last 6 are returned. ${delay}`,
    query: MinutesQuery,
    success: shown(Minutes, 'The requests, oldest first.'),
  },
  listTopCallers: {
    ...common,
    operationId: 'listTopCallers',
    path: '/usage/callers',
    summary: 'List who makes the most requests',
    description: `Returns the keys with the most requests, of today (UTC) unless \`since\` says otherwise. Whole days are counted, 31 at most. ${delay}`,
    query: TopCallersQuery,
    success: shown(TopCallers, 'The keys, those with the most requests first.'),
  },
  listDeprecatedCallers: {
    ...common,
    operationId: 'listDeprecatedCallers',
    path: '/usage/deprecated',
    summary: 'List who still calls deprecated operations',
    description: `Returns the keys that called a deprecated operation, of the last 30 days unless \`since\` says otherwise. Whole days are counted, 31 at most. ${delay}`,
    query: TopCallersQuery,
    success: shown(TopCallers, 'The keys, those with the most such requests first.'),
  },
} as const satisfies Readonly<Record<string, Operation>>;
