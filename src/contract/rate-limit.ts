import * as z from 'zod';
import { count, instant } from './values.ts';

const windowOf = (description: string) =>
  z
    .object({
      limit: count.meta({ description: 'Requests that the plan allows in the window.' }),
      remaining: count.meta({ description: 'Requests left in the window.' }),
      resetAt: instant('When the window ends, UTC.'),
    })
    .meta({ description });

export const RateLimit = z
  .object({
    plan: z.string().meta({ description: "The account's plan.", examples: ['free'] }),
    minute: windowOf('The window of 60 seconds.'),
    day: windowOf('The window of 86,400 seconds.'),
    bannedUntil: instant('When the ban of the key ends, UTC; null when it is not banned.').nullable(),
  })
  .meta({ id: 'RateLimit', description: "What is left of the account's limits." });

export type RateLimit = z.infer<typeof RateLimit>;

export function rateLimitJson(rateLimit: RateLimit): string {
  return JSON.stringify(rateLimit);
}
