/** Without faults, a sandbox responds exactly like the service. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startTestApp, type TestApp } from '../support/app.ts';
import { exchange } from '../support/raw.ts';
import { startTestSandbox, type TestSandbox } from '../support/sandbox.ts';

const origin = 'https://shop.example';
let sandbox: TestSandbox;
let service: TestApp;
let keys: readonly [string, string];
beforeAll(async () => {
  sandbox = await startTestSandbox({ corsOrigins: origin });
  service = await startTestApp({ CORS_ORIGINS: origin });
  // Also limits requests per day, because a minute may end during the test.
  const quota = { perMinute: 100, perDay: 100 };
  const account = await sandbox.account({ plan: 'enterprise', ...quota });
  keys = [account.key, (await service.tenant('enterprise', quota)).key];
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await sandbox[Symbol.asyncDispose]();
});

const close = 'Connection: close\r\n';
const post = 'POST /v1/pets HTTP/1.1\r\nHost: a\r\nKEY\r\nContent-Type: application/json\r\n';
const pet = '{"name":"Ozzy","categoryId":9223372036854775807}';
const list = 'GET /v1/pets?limit=1 HTTP/1.1\r\nHost: a\r\nKEY\r\nX-Request-Id: list\r\n';
const chunks = `${pet.length.toString(16)}\r\n${pet}\r\n0\r\n\r\n`;

const conversations: readonly (readonly [string, ...string[]])[] = [
  ['a body', `${post}${close}Content-Length: ${pet.length}\r\n\r\n${pet}`],
  ['a chunked body', `${post}${close}Transfer-Encoding: chunked\r\n\r\n${chunks}`],
  [
    'a body in two pieces',
    `${post}${close}Content-Length: ${pet.length}\r\n\r\n${pet.slice(0, 9)}`,
    pet.slice(9),
  ],
  ['a broken chunk', `${post}${close}Transfer-Encoding: chunked\r\n\r\nnonsense\r\n`],
  [
    'Expect: 100-continue',
    `${post}${close}Expect: 100-continue\r\nContent-Length: ${pet.length}\r\n\r\n${pet}`,
  ],
  ['invalid JSON', `${post}${close}Content-Length: 1\r\n\r\n{`],
  ['a list', `${list}${close}\r\n`],
  ['pipelined requests', `${list}\r\n${list}\r\n${list}${close}\r\n`],
  ['HEAD', `HEAD /v1/pets HTTP/1.1\r\nHost: a\r\nKEY\r\nX-Request-Id: head\r\n${close}\r\n`],
  ['an ETag that matches', `${list}If-None-Match: *\r\n${close}\r\n`],
  ['an unknown path', `GET /v1/cats HTTP/1.1\r\nHost: a\r\nKEY\r\n${close}\r\n`],
  ['an unknown method', `PUT /v1/pets HTTP/1.1\r\nHost: a\r\nKEY\r\n${close}\r\n`],
  ['a request without a key', `GET /v1/pets HTTP/1.1\r\nHost: a\r\n${close}\r\n`],
  [
    'a preflight',
    `OPTIONS /v1/pets HTTP/1.1\r\nHost: a\r\nOrigin: ${origin}\r\nAccess-Control-Request-Method: GET\r\n${close}\r\n`,
  ],
  ['a page from a configured origin', `${list}Origin: ${origin}\r\n${close}\r\n`],
  ['a deprecated operation', `GET /v1/pets/1 HTTP/1.1\r\nHost: a\r\nKEY\r\n${close}\r\n`],
  ['an HTTP/1.0 client', 'GET /v1/pets HTTP/1.0\r\nKEY\r\n\r\n'],
  ['data that is not HTTP', 'nonsense\r\n\r\n'],
];

describe('a sandbox and a service send the same response to', () => {
  test.each(conversations)('%s', async (_name, ...pieces) => {
    const [ofSandbox, ofService] = await Promise.all([
      answersOf(sandbox.url, keys[0], pieces),
      answersOf(service.url, keys[1], pieces),
    ]);
    expect(ofSandbox).toEqual(ofService);
  });

  test.each([
    '/',
    '/docs',
    '/docs/guides/quickstart',
    '/livez',
    '/readyz',
    '/openapi.json',
    '/.well-known/api-catalog',
    '/unknown',
  ])('%s', async (path) => {
    const read = async (url: string) => {
      const response = await fetch(url + path, { redirect: 'manual' });
      // The search index contains the address, so its version differs, and may have another length.
      const page = (await response.text()).replace(/search\.json\?v=\w+/, 'search.json');
      const isGuide = page.includes('search.json');
      const headers = [...response.headers].filter(
        ([name]) => !passing.has(name) && !(isGuide && name === 'content-length'),
      );
      const text = `${JSON.stringify(headers)}\n${page}`;
      return { status: response.status, text: text.replaceAll(url, 'URL') };
    };
    const [ofSandbox, ofService] = await Promise.all([read(sandbox.url), read(service.url)]);
    expect(ofSandbox).toEqual(ofService);
  });
});

/** Headers that differ from request to request. */
const passing = new Set(['date', 'x-request-id', 'x-ratelimit-reset', 'ratelimit']);

async function answersOf(url: string, key: string, pieces: readonly string[]) {
  const sent = pieces.map((piece) => piece.replaceAll('KEY', `Authorization: Bearer ${key}`));
  const answers = await exchange(url, ...sent);
  return answers.map(({ status, headers, body }) => ({
    status,
    // Sorted, because the order of headers depends on earlier requests: header objects are reused.
    headers: [...headers].map(([name, value]) => (passing.has(name) ? [name] : [name, value])).sort(),
    body,
  }));
}
