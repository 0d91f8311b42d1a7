/**
 * Responses that do not count against a rate limit are limited per connection, because pipelining makes them cheap to
 * request.
 */
import { describe, expect, test } from 'bun:test';
import { maxUnmeteredPerMinute, UnmeteredResponses } from '../../src/http/listener/unmetered-responses.ts';
import { Connection } from '../process/connection.ts';
import { adminUrl } from '../support/admin.ts';
import { startAppForFile } from '../support/app.ts';
import { FakeClock } from '../support/clock.ts';
import { exchange } from '../support/raw.ts';

const origin = 'https://shop.example';
const app = await startAppForFile({ CORS_ORIGINS: origin, AUTH_FAILURES_PER_MINUTE: '10' });

const limited = await app.tenant('enterprise', { perMinute: 1, perDay: 1 });
const host = 'Host: 127.0.0.1\r\n';

const kinds = [
  ['without a key (401, then 429)', 'GET /v1/pets', ''],
  ['over the limit (429)', 'GET /v1/pets', `Authorization: Bearer ${limited.key}\r\n`],
  ['to getRateLimit', 'GET /v1/rate-limit', `Authorization: Bearer ${app.key}\r\n`],
  [
    'that are preflights',
    'OPTIONS /v1/pets',
    `Origin: ${origin}\r\nAccess-Control-Request-Method: GET\r\nX-Request-Id: head\r\n`,
  ],
] as const;

const pipelined = (line: string, headers: string) => `${line} HTTP/1.1\r\n${host}${headers}\r\n`.repeat(100);

describe('pipelined requests', () => {
  test.each(kinds)(
    '%s get a limited number of responses before the connection is closed',
    async (_, line, headers) => {
      const responses = await exchange(app.url, pipelined(line, headers));
      expect(responses.length).toBeLessThanOrEqual(maxUnmeteredPerMinute + 2);
      expect(responses.at(-1)?.headers.get('connection')).toBe('close');
    },
  );

  test.each(['/livez', '/readyz', '/docs', '/elsewhere'])(
    'outside /v1 get a limited number of responses before the connection is closed (%s)',
    async (path) => {
      const responses = await exchange(app.url, pipelined(`GET ${path}`, ''));
      expect(responses.length).toBeLessThanOrEqual(maxUnmeteredPerMinute + 1);
      expect(responses.at(-1)?.headers.get('connection')).toBe('close');
    },
  );

  test.each([
    ['without a token', 'GET /admin/v1/keys'],
    ['for an unknown page', 'GET /elsewhere'],
  ])(
    'to the admin port, %s, get a limited number of responses before the connection is closed',
    async (_, line) => {
      const responses = await exchange(adminUrl(app), pipelined(line, ''));
      expect(responses.length).toBeLessThanOrEqual(maxUnmeteredPerMinute + 1);
      expect(responses.at(-1)?.headers.get('connection')).toBe('close');
    },
  );

  test('all get a response if they count against a limit', async () => {
    const line = 'GET /v1/pets';
    const key = `Authorization: Bearer ${app.key}\r\n`;
    const last = `${line} HTTP/1.1\r\n${host}${key}Connection: close\r\n\r\n`;
    expect((await exchange(app.url, pipelined(line, key) + last)).length).toBe(101);
  });
});

test('the number of responses per connection that do not count against a rate limit is reset every minute', async () => {
  using connection = await Connection.open(app.url);
  const closed: boolean[] = [];
  for (let minute = 0; minute < 2; minute++) {
    for (let sent = 0; sent < maxUnmeteredPerMinute; sent++)
      closed.push((await connection.get('/v1/rate-limit', app.key)).closes);
    app.clock.advance(60);
  }
  expect(closed).not.toContain(true);
});

test('a connection gets only one response that does not count against a limit in an event-loop tick that is already long', async () => {
  const responses = new UnmeteredResponses(new FakeClock());
  const peer = { address: '192.0.2.1', family: 'IPv4', port: 1 } as const;
  const server = { requestIP: () => peer };
  const isLast = () => responses.isLast(new Request('http://127.0.0.1/'), server);
  expect(isLast()).toBe(false);
  Bun.sleepSync(20);
  expect(isLast()).toBe(true);
  await new Promise((resolve) => setImmediate(resolve));
  expect(isLast()).toBe(false);
});
