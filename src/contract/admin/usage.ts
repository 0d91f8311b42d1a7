import * as z from 'zod';
import { count, instant, limitParameter, oneOf } from '../values.ts';
import { id, since, until } from './values.ts';

/** How requests are told apart in usage: what became of them. */
export const Outcomes = z
  .object({
    ok: count.meta({ description: 'Answered 2xx or 304.' }),
    refused: count.meta({ description: 'Answered 4xx, other than 429.' }),
    limited: count.meta({ description: 'Answered 429.' }),
    failed: count.meta({ description: 'Answered 5xx.' }),
  })
  .meta({ id: 'Outcomes', description: 'Requests by what became of them.' });

const resolutions = ['hour', 'day'] as const;

export const UsageQuery = z.strictObject({
  since,
  until,
  resolution: z
    .enum(resolutions, { error: oneOf(resolutions) })
    .default('hour')
    .meta({ description: 'Hours are kept for 7 days, days for 400.' }),
});

export const UsageSeries = z
  .array(Outcomes.extend({ from: instant('When the hour or day begins, UTC.') }))
  .meta({
    id: 'UsageSeries',
    description: 'Requests by hour or by day, oldest first; none of those without requests.',
  });

export const MinutesQuery = z.strictObject({ since, until });

export const MinuteUsage = z
  .object({
    minute: instant('When the minute begins, UTC.'),
    operation: z.string().meta({ description: 'The operation, or `none` for requests of none.' }),
    codes: z.record(z.string(), count).meta({
      description: 'Requests by outcome: `ok`, or the error code.',
      examples: [{ ok: 120, invalid_body: 2 }],
    }),
  })
  .meta({ id: 'MinuteUsage', description: 'The requests of an operation in a minute.' });

export const Minutes = z
  .array(MinuteUsage)
  .meta({ id: 'Minutes', description: 'Requests by minute and operation, oldest first.' });

export const TopCallersQuery = z.strictObject({ since, until, limit: limitParameter('callers') });

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

export type Outcomes = z.infer<typeof Outcomes>;
export type UsageSeries = z.infer<typeof UsageSeries>;
export type MinuteUsage = z.infer<typeof MinuteUsage>;
export type KeyUsage = z.infer<typeof KeyUsage>;
