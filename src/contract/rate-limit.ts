import * as z from 'zod';
import { okJson, rowsOf } from './operation.ts';
import { count, instant, shape } from './values.ts';

const windowOf = (description: string) =>
  z
    .object({
      limit: count.meta({ description: 'Requests that the plan allows in the window.' }),
      remaining: count.meta({ description: 'Requests left in the window.' }),
      resetAt: instant('When the window ends, UTC.'),
    })
    .meta({ description });

export const RateLimit = shape('RateLimit', "What is left of the account's limits.", {
  plan: z.string().meta({ description: "The account's plan.", examples: ['free'] }),
  minute: windowOf('The window of 60 seconds.'),
  day: windowOf('The window of 86,400 seconds.'),
  bannedUntil: instant('When the ban of the key ends, UTC; null when it is not banned.').nullable(),
});

export type RateLimit = z.infer<typeof RateLimit>;

export const rateLimitOperations = rowsOf(
  { tag: { name: 'Rate limits', description: "What is left of the account's limits." } },
  {
    getRateLimit: {
      method: 'GET',
      path: '/rate-limit',
      summary: 'Get the rate limits',
      description:
        "Returns the account's limits and what is left of them. It costs no request, opens no window, and is answered " +
        'while the account is limited and the key banned.',
      free: true,
      success: okJson(RateLimit, 'The limits.'),
    },
  },
);
