import { afterAll, describe, expect, test } from 'bun:test';
import { startTestApp } from '../support/app.ts';
import { newPet } from '../support/pets.ts';

const shop = 'https://shop.example.com';
const app = await startTestApp({ CORS_ORIGINS: `${shop}, http://localhost:5173` });
const closed = await startTestApp();
afterAll(() => Promise.all([app[Symbol.asyncDispose](), closed[Symbol.asyncDispose]()]));

const ask = { 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'authorization' };

/** CORS headers, without which a page cannot read a response. */
const corsNames = (headers: Headers) =>
  [...headers.keys()].filter((name) => name.startsWith('access-control-'));

describe('a preflight from a configured origin', () => {
  test('gets 204 on any path without credentials, and allows the methods and headers of all operations', async () => {
    for (const path of ['/pets', '/pets/1', '/elsewhere']) {
      const answer = await app.call('OPTIONS', path, { key: null, headers: { Origin: shop, ...ask } });
      expect(answer.status).toBe(204);
      expect(answer.text).toBe('');
      expect(answer.header('Access-Control-Allow-Origin')).toBe(shop);
      expect(answer.header('Access-Control-Allow-Methods')).toBe('GET, HEAD, POST, PATCH, DELETE, PUT');
      expect(answer.header('Access-Control-Allow-Headers')).toBe(
        'Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, Last-Event-ID, X-Request-Id, Traceparent, Tracestate',
      );
      expect(answer.header('Vary')).toBe('Origin');
      expect(answer.headers.has('Access-Control-Allow-Credentials')).toBe(false);
    }
  });

  test('does not count as a request or as a failed authentication', async () => {
    const before = await app.call('GET', '/pets', { key: null });
    for (const key of [null, app.key]) {
      await app.call('OPTIONS', '/pets', { key, headers: { Origin: shop, ...ask } });
    }
    const after = await app.call('GET', '/pets', { key: null });
    expect(after.number('X-RateLimit-Remaining')).toBe(before.number('X-RateLimit-Remaining') - 1);
  });
});

describe('an OPTIONS request that is not a preflight from a configured origin', () => {
  test.each([
    ['an origin that is not configured', { Origin: 'https://evil.example', ...ask }],
    ['an origin that only begins with a configured one', { Origin: `${shop}.evil.example`, ...ask }],
    ['the origin null', { Origin: 'null', ...ask }],
    ['no origin', ask],
    ['no Access-Control-Request-Method', { Origin: shop }],
  ])('requires a credential: %s', async (_, headers: Record<string, string>) => {
    expect((await app.call('OPTIONS', '/pets', { key: null, headers })).status).toBe(401);
    expect((await app.call('OPTIONS', '/pets', { headers })).status).toBe(405);
  });
});

describe('a response', () => {
  test('can be read with all its headers by a page from a configured origin, whatever the status', async () => {
    for (const origin of [shop, 'http://localhost:5173']) {
      const headers = { Origin: origin };
      const answers = [
        await app.call('GET', '/pets', { headers }),
        await app.call('POST', '/pets', { headers, body: newPet() }),
        await app.call('GET', '/pets/99', { headers }),
        await app.call('GET', '/pets', { headers, key: null }),
        await app.call('GET', '/elsewhere', { headers }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([200, 201, 404, 401, 404]);
      for (const answer of answers) {
        expect(answer.header('Access-Control-Allow-Origin')).toBe(origin);
        expect(answer.header('Vary')).toBe('Origin');
        const exposed = answer.header('Access-Control-Expose-Headers').toLowerCase().split(', ');
        const own = [...answer.headers.keys()].filter((name) =>
          /^(x-(?!content-type-options)|ratelimit|link|retry|deprecation|sunset|www-authenticate|allow)/.test(
            name,
          ),
        );
        for (const name of own) expect(exposed).toContain(name);
      }
    }
  });

  test('to another origin has Vary: Origin, but no CORS headers', async () => {
    for (const headers of [{ Origin: 'https://evil.example' }, { Origin: 'null' }, {}]) {
      const answer = await app.call('GET', '/pets', { headers });
      expect(answer.status).toBe(200);
      expect(corsNames(answer.headers)).toEqual([]);
      expect(answer.header('Vary')).toBe('Origin');
    }
  });

  test('does not depend on the origin if no origin is configured', async () => {
    const answer = await closed.call('GET', '/pets', { headers: { Origin: shop } });
    expect(corsNames(answer.headers)).toEqual([]);
    expect(answer.headers.has('Vary')).toBe(false);
  });
});
