import * as z from 'zod';

const count = z
  .int()
  .min(0)
  .meta({ override: { type: 'integer', format: 'int64', minimum: 0 } });

const instant = (description: string) =>
  z.iso.datetime().meta({
    description,
    override: { type: 'string', format: 'date-time', examples: ['2026-11-22T09:30:00.000Z'] },
  });

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
