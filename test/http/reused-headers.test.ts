import { expect, test } from 'bun:test';
import { cacheControl } from '../../src/contract/caching.ts';
import type { Quota } from '../../src/domain/plan.ts';
import { type HeaderFields, responseHeaders } from '../../src/http/pipeline/response-headers.ts';
import { Chance } from '../stress/generate/chance.ts';

const quotas: readonly Quota[] = [
  { perMinute: 60, perDay: 1_000 },
  { perMinute: 60, perDay: 50_000 },
  { perMinute: 600, perDay: 50_000 },
];
const routes: readonly (HeaderFields | undefined)[] = [
  undefined,
  undefined,
  { Deprecation: '@1', Sunset: 'then', Link: '</successor>' },
];
/**
 * Response headers, including some that override the route's headers, and objects that several responses share.
 */
const owns: readonly (() => HeaderFields)[] = [
  () => ({}),
  () => ({ ETag: '"a"', Link: '</next>' }),
  () => ({ 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store', Connection: 'close' }),
  () => ({ 'Retry-After': '7', Link: '</help>' }),
  ...[{ ETag: '"kept"' }, { ETag: '"kept too"', Location: '/v1/pets/1' }].map((kept) => () => kept),
];

/** The parts of a response, and its expected headers. */
function anyCase(chance: Chance, index: number) {
  const status = chance.pick([200, 201, 204, 304, 404, 429]);
  const isEmpty = status === 204 || status === 304;
  const own = chance.pick(owns)();
  const ofRoute = chance.pick(routes);
  const quota = chance.pick(quotas);
  const state = () => ({
    limit: chance.pick([60, 600]),
    remaining: chance.int(0, 2),
    resetAt: chance.int(1, 2),
    secondsLeft: chance.int(1, 2),
  });
  const [minute, day, shown] = [state(), state(), state()];
  const isKnown = chance.often(0.8);
  const admission = isKnown
    ? { caller: { quota }, verdict: { ...shown, minute, day } }
    : { caller: undefined, state: shown };
  const expected = {
    ...(!(isEmpty && status < 400) && { 'Content-Type': 'application/json' }),
    'Cache-Control': status >= 400 ? cacheControl.error : cacheControl.success,
    'X-Content-Type-Options': 'nosniff',
    ...ofRoute,
    ...own,
    'X-Request-Id': `id-${index}`,
    'X-RateLimit-Limit': String(shown.limit),
    'X-RateLimit-Remaining': String(shown.remaining),
    'X-RateLimit-Reset': String(shown.resetAt),
    ...(isKnown && {
      'RateLimit-Policy': `"minute";q=${quota.perMinute};w=60, "day";q=${quota.perDay};w=86400`,
      RateLimit: `"minute";r=${minute.remaining};t=${minute.secondsLeft}, "day";r=${day.remaining};t=${day.secondsLeft}`,
    }),
  };
  return { kind: { status, isEmpty }, own, ofRoute, admission, expected };
}

test('the headers of a response do not depend on previous responses', () => {
  for (let index = 0; index < 5_000; index++) {
    const { kind, own, ofRoute, admission, expected } = anyCase(new Chance(1, index), index);
    const headers = responseHeaders(
      kind,
      `id-${index}`,
      admission as unknown as Parameters<typeof responseHeaders>[2],
      own,
      ofRoute,
    );
    if (!Bun.deepEquals([...headers], [...new Headers(expected)])) {
      expect([index, [...headers]]).toEqual([index, [...new Headers(expected)]]);
    }
  }
});
