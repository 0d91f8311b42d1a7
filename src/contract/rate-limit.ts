import * as z from 'zod';
import { defineOperations, okJson } from './operation.ts';
import { count, instant, objectSchema } from './values.ts';

const windowOf = (description: string) =>
  z
    .object({
      limit: count.describe('Requests that the plan allows in the window.'),
      remaining: count.describe('Requests left in the window.'),
      resetAt: instant('Time when the window ends (UTC).'),
    })
    .meta({ description });

const RateLimit = objectSchema('RateLimit', "The account's rate limits and remaining requests.", {
  plan: z.string().meta({ description: "The account's plan.", examples: ['free'] }),
  minute: windowOf('The 60-second window.'),
  day: windowOf('The 86,400-second window.'),
  bannedUntil: instant('Time when the ban of the key ends (UTC); null if the key is not banned.').nullable(),
});

export const rateLimitOperations = defineOperations(
  { tag: { name: 'Rate limits', description: "The account's rate limits and remaining requests." } },
  {
    getRateLimit: {
      route: 'GET /rate-limit',
      summary: 'Get the rate limits',
      description:
        "Returns the account's limits and remaining requests. This request does not count against the limits, does not start a window, and works " +
        'even while the account is rate limited or the key is banned.',
      free: true,
      success: okJson(RateLimit, 'The limits.'),
    },
  },
);
