/**
 * Responses that count against no plan are limited on each connection, because pipelining makes them cheap to request.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import { freeResponsesPerMinute } from '../../src/http/listener/free-budget.ts';
import { Connection } from '../process/connection.ts';
import { adminUrl } from '../support/admin.ts';
import { startTestApp } from '../support/app.ts';
import { exchange } from '../support/raw.ts';

const origin = 'https://shop.example';
const app = await startTestApp({ CORS_ORIGINS: origin, AUTH_FAILURES_PER_MINUTE: '10' });
afterAll(() => app[Symbol.asyncDispose]());

const limited = await app.tenant('enterprise', { perMinute: 1, perDay: 1 });
const host = 'Host: 127.0.0.1\r\n';

const kinds = [
  ['without a key, 401 and then 429', 'GET /v1/pets', ''],
  ['over the limit, 429', 'GET /v1/pets', `Authorization: Bearer ${limited.key}\r\n`],
  ['for the rate limit', 'GET /v1/rate-limit', `Authorization: Bearer ${app.key}\r\n`],
  [
    'for a preflight',
    'OPTIONS /v1/pets',
    `Origin: ${origin}\r\nAccess-Control-Request-Method: GET\r\nX-Request-Id: head\r\n`,
  ],
] as const;

const pipelined = (line: string, headers: string) => `${line} HTTP/1.1\r\n${host}${headers}\r\n`.repeat(100);

describe('pipelined requests', () => {
  test.each(kinds)('for %s close the connection after some responses', async (_, line, headers) => {
    const responses = await exchange(app.url, pipelined(line, headers));
    expect(responses.length).toBeLessThanOrEqual(freeResponsesPerMinute + 2);
    expect(responses.at(-1)?.headers.get('connection')).toBe('close');
  });

  test.each([
    ['without a token', 'GET /admin/v1/keys'],
    ['for an unknown page', 'GET /elsewhere'],
  ])('to the admin port, %s, close the connection after some responses', async (_, line) => {
    const responses = await exchange(adminUrl(app), pipelined(line, ''));
    expect(responses.length).toBe(freeResponsesPerMinute + 1);
    expect(responses.at(-1)?.headers.get('connection')).toBe('close');
  });

  test('are all answered if they count against a limit', async () => {
    const line = 'GET /v1/pets';
    const key = `Authorization: Bearer ${app.key}\r\n`;
    const last = `${line} HTTP/1.1\r\n${host}${key}Connection: close\r\n\r\n`;
    expect((await exchange(app.url, pipelined(line, key) + last)).length).toBe(101);
  });
});

test('a connection gets the same number of free responses in the next minute', async () => {
  using connection = await Connection.open(app.url);
  const closed: boolean[] = [];
  for (let minute = 0; minute < 2; minute++) {
    for (let sent = 0; sent < freeResponsesPerMinute; sent++)
      closed.push((await connection.get('/v1/rate-limit', app.key)).closes);
    app.clock.advance(60);
  }
  expect(closed).not.toContain(true);
});
