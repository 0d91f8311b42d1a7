import type { Request } from '../request.ts';
import type { Resource } from '../resource.ts';

const rateLimitForm =
  /^\{"plan":"enterprise","minute":(\{.*\}),"day":\{"limit":1000000000,"remaining":\d+,"resetAt":"[^"]+"\},"bannedUntil":null\}$/;

function getRateLimit(): Request {
  const matches = (text: string) => (rateLimitForm.test(text) ? undefined : `the limits are ${text}`);
  return {
    operationId: 'getRateLimit',
    method: 'GET',
    target: '/rate-limit',
    act: () => ({ status: 200, matches }),
  };
}

export const rateLimit: Resource = { places: { getRateLimit } };
