import { type Operation, ok } from './operation.ts';
import { RateLimit, rateLimitJson } from './rate-limit.ts';

export const rateLimitOperations = {
  getRateLimit: {
    operationId: 'getRateLimit',
    method: 'GET',
    path: '/rate-limit',
    tag: 'Rate limits',
    summary: 'Get the rate limits',
    description:
      "Returns the account's limits and what is left of them. It costs no request, opens no window, and is answered " +
      'while the account is limited and the key banned.',
    stability: 'beta',
    reads: [],
    free: true,
    success: ok(RateLimit, rateLimitJson, 'The limits.'),
    errors: [],
  },
} as const satisfies Readonly<Record<string, Operation>>;
