/**
 * Requests that fetch cannot send. The service responds to a malformed request at most once, never treats bytes of the
 * request's body as another request, and keeps working.
 */
import { describe, expect, test } from 'bun:test';
import { adminUrl } from '../support/admin.ts';
import { startAppForFile } from '../support/app.ts';
import { newPet } from '../support/pets.ts';
import { exchange, type RawResponse } from '../support/raw.ts';

const app = await startAppForFile();

const host = 'Host: animals.example\r\n';
const authorization = `Authorization: Bearer ${app.key}\r\n`;

/** A request with a valid key, identified by its request id. */
function request(line: string, id: string, headers = '', body = ''): string {
  return `${line} HTTP/1.1\r\n${host}${authorization}X-Request-Id: ${id}\r\n${headers}\r\n${body}`;
}

const json = 'Content-Type: application/json\r\n';
const post = (id: string, body = newPet()) =>
  request('POST /v1/pets', id, `${json}Content-Length: ${body.length}\r\n`, body);

/** Closes the connection, so that no test waits for a timeout. */
const last = request('GET /v1/pets/0', 'last', 'Connection: close\r\n');

const idsOf = (responses: readonly RawResponse[]) =>
  responses.map(({ headers }) => headers.get('x-request-id'));
const statusesOf = (responses: readonly RawResponse[]) => responses.map(({ status }) => status);

/**
 * Sends a malformed request, which may hide a second request in its body, followed by a valid one. Checks the rules
 * that apply to every malformed request.
 */
async function attack(...pieces: string[]): Promise<RawResponse[]> {
  const responses = await exchange(app.url, ...pieces, last);
  expect(responses.length).toBeLessThanOrEqual(2);
  expect(idsOf(responses)).not.toContain('hidden');
  // The parser responds with 505 to a request line with a misplaced line break.
  for (const { status } of responses) expect(status < 500 || status === 505).toBe(true);
  expect((await app.call('GET', '/pets?limit=1')).status).toBe(200);
  return responses;
}

const hidden = request('GET /v1/pets', 'hidden');

test('a create request with a media type but neither length nor body gets an error about the missing body', async () => {
  const [answer] = await exchange(app.url, request('POST /v1/pets', 'a', json) + last);
  expect([answer?.status, answer?.body]).toEqual([
    400,
    expect.stringContaining('The request body is missing'),
  ]);
});

test('an empty line before a request gets a bare 400, which is a documented limitation of the runtime', async () => {
  for (const line of ['\r\n', '\n']) {
    const responses = await exchange(app.url, line + request('GET /v1/pets', 'a'));
    expect(statusesOf(responses)).toEqual([400]);
    expect(responses[0]?.body).toBe('');
  }
});

describe('pipelined requests', () => {
  test('are answered in order, each with the matching body', async () => {
    const sent = [
      request('GET /v1/pets?limit=0', 'a'),
      request('GET /v1/pets/99', 'b'),
      request('HEAD /v1/pets', 'head'),
      request('GET /v1/elsewhere', 'c'),
      request('DELETE /v1/pets', 'd'),
    ];
    const responses = await exchange(app.url, sent.join('') + last);
    expect(idsOf(responses)).toEqual(['a', 'b', 'head', 'c', 'd', 'last']);
    expect(statusesOf(responses)).toEqual([400, 404, 200, 404, 405, 404]);
    expect(responses[0]?.body).toContain('invalid_parameter');
    expect(responses[1]?.body).toContain('pet_not_found');
    expect(responses[3]?.body).toContain('route_not_found');
    expect(responses[4]?.body).toContain('method_not_allowed');
  });

  test('are never answered out of order, even after a create request that waits for the disk', async () => {
    // The runtime does not process a request while an earlier one on the same connection is in flight. It closes the
    // connection, and the client retries (RFC 9112, section 9.3.2).
    const sent = request('GET /v1/pets/0', 'a') + post('b') + request('GET /v1/pets/0', 'c') + post('d');
    const responses = await exchange(app.url, sent + last);
    const ids = idsOf(responses);
    expect(ids).toEqual(['a', 'b', 'c', 'd', 'last'].slice(0, ids.length));
    expect(statusesOf(responses)).toEqual([404, 201, 404, 201, 404].slice(0, ids.length));
  });
});

describe('a body with contradictory lengths', () => {
  const chunks = `0\r\n\r\n${hidden}`;
  const chunked = 'Transfer-Encoding: chunked\r\n';
  test.each([
    ['both lengths', `Content-Length: ${chunks.length}\r\n${chunked}`],
    ['a coding that is not the last', 'Transfer-Encoding: chunked, gzip\r\n'],
    ['two lengths', `Content-Length: 0\r\nContent-Length: ${chunks.length}\r\n`],
  ])('is rejected, and no part of it is interpreted as a request: %s', async (_, headers) => {
    const responses = await attack(request('POST /v1/pets', 'broken', json + headers, chunks));
    expect(statusesOf(responses)).toEqual([400]);
  });
});

describe('a malformed request head', () => {
  test.each([
    ['no Host', `GET /v1/pets HTTP/1.1\r\n${authorization}\r\n`],
    ['a header of a megabyte', request('GET /v1/pets', 'broken', `X-Long: ${'a'.repeat(1_000_000)}\r\n`)],
    ['ten thousand headers', request('GET /v1/pets', 'broken', 'X-Many: a\r\n'.repeat(10_000))],
    ['a target of a megabyte', request(`GET /v1/pets?${'a'.repeat(1_000_000)}`, 'broken')],
    ['a TLS greeting', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['only line breaks', '\r\n'.repeat(100)],
  ])('is rejected, and the connection is closed: %s', async (_, head) => {
    const responses = await attack(head);
    expect(responses.length).toBeLessThanOrEqual(1);
    for (const { status, headers } of responses) {
      expect([400, 431, 505]).toContain(status);
      expect(headers.get('connection')).toBe('close');
    }
  });

  test('with an invalid request id gets a response with a generated request id', async () => {
    const [response] = await attack(request('GET /v1/pets/0', '\xff\xfe'));
    expect(response?.headers.get('x-request-id')).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
  });

  test.each([
    ['under /v1', '/v1/pets', authorization],
    ['under /v1, without a key', '/v1/pets', ''],
    ['outside /v1', '/livez', ''],
    ['at an unknown path', '/elsewhere', ''],
  ])('with two Host headers gets 400: %s', async (_, path, key) => {
    for (const second of [host, 'Host: other.example\r\n']) {
      const [response] = await attack(`GET ${path} HTTP/1.1\r\n${host}${second}${key}\r\n`);
      expect([response?.status, JSON.parse(response?.body ?? '').details]).toEqual([
        400,
        [{ in: 'header', name: 'Host', message: 'must be sent once' }],
      ]);
    }
  });

  test('with two Host headers gets 400 on the admin port', async () => {
    const [response] = await exchange(
      adminUrl(app),
      `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`,
    );
    expect(response?.status).toBe(400);
  });

  test('with two Authorization headers is treated as having no valid credential', async () => {
    const [response] = await attack(request('GET /v1/pets', 'twice', authorization));
    expect(response?.body).toContain('invalid_api_key');
  });
});

describe('an unread body', () => {
  const length = `Content-Length: ${hidden.length}\r\n`;
  const keyless = (headers: string, body: string) =>
    `POST /v1/pets HTTP/1.1\r\n${host}X-Request-Id: refused\r\n${headers}\r\n${body}`;

  test.each([
    ['401', keyless(json + length, hidden)],
    ['404', request('POST /v1/elsewhere', 'refused', json + length, hidden)],
    ['405', request('PUT /v1/pets', 'refused', json + length, hidden)],
    ['404', request('GET /v1/pets/0', 'refused', length, hidden)],
    ['415', request('POST /v1/pets', 'refused', `Content-Type: text/plain\r\n${length}`, hidden)],
  ])('is skipped, and the next request gets its own response: %s', async (status, sent) => {
    const responses = await attack(sent);
    expect(statusesOf(responses)).toEqual([Number(status), 404]);
    expect(idsOf(responses)).toEqual(['refused', 'last']);
  });

  // An immediate close would reset connections while clients are sending, and many would not receive the response.
  test('is skipped if its declared length is too large, and the next request is answered', async () => {
    const body = hidden.padEnd(20_000);
    const responses = await attack(
      request('POST /v1/pets', 'refused', `${json}Content-Length: ${body.length}\r\n`, body),
    );
    expect(statusesOf(responses)).toEqual([413, 404]);
    expect(idsOf(responses)).toEqual(['refused', 'last']);
  });

  test.each([
    ['without a key', keyless, `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`, 401],
    [
      'that is too large',
      (headers: string, body: string) => request('POST /v1/pets', 'refused', headers, body),
      `5000\r\n${hidden.padEnd(0x5000)}\r\n0\r\n\r\n`,
      413,
    ],
  ])(
    'in chunks, %s, causes the connection to be closed, even if requests are pipelined behind it',
    async (_, sent, body, status) => {
      const responses = await attack(sent(`${json}Transfer-Encoding: chunked\r\n`, body));
      // The runtime closes the connection without a response if it reads the next request before it has responded.
      expect(statusesOf(responses)).toEqual([status].slice(0, responses.length));
    },
  );

  test('is also skipped if it arrives in pieces after the response', async () => {
    const sent = keyless(json + length, '');
    const responses = await attack(sent, hidden.slice(0, 10), hidden.slice(10));
    expect(idsOf(responses)).not.toContain('hidden');
    expect(responses[0]?.status).toBe(401);
  });
});

describe('CONNECT', () => {
  // Otherwise, the runtime would keep the connection open as a tunnel and discard later requests.
  test.each(['animals.example:80', 'animals.example', 'http://animals.example/', '/v1/pets', '/docs'])(
    'closes the connection, so that no proxy sends another request on it: %s',
    async (target) => {
      const [response] = await exchange(app.url, request(`CONNECT ${target}`, 'tunnel'));
      expect([404, 405]).toContain(response?.status ?? 0);
      expect(response?.headers.get('connection')).toBe('close');
    },
  );
});

describe('an unusual request target', () => {
  const codeAt = async (target: string) => {
    const [response] = await attack(request(`GET ${target}`, 'odd'));
    return `${response?.status} ${response?.body === '' ? '' : JSON.parse(response?.body ?? '{}').code}`;
  };

  test.each([
    ['http://other.example/v1/pets/0', '404 pet_not_found'],
    ['https://other.example:99/v1/pets?limit=0', '400 invalid_parameter'],
    ['/v1/pets/0#fragment', '404 pet_not_found'],
    ['//v1/pets', '404 route_not_found'],
    ['/v1//pets', '404 route_not_found'],
    ['/v1/%70ets', '404 route_not_found'],
    ['/%76%31/pets', '404 route_not_found'],
    ['/v1/pets/\xff\xfe', '404 pet_not_found'],
    ['/v1/pets?limit=\xd9\xa3', '400 invalid_parameter'],
  ])('%s gets the response %s', async (target, code) => {
    expect(await codeAt(target)).toBe(code);
  });

  test.each(['/x/../v1/pets', '/v1/../v1/pets', '/./v1/pets', '/v1/./pets', '/v1/x/../pets'])(
    'with dot segments does not bypass authentication: %s',
    async (target) => {
      const keyless = `GET ${target} HTTP/1.1\r\n${host}\r\n`;
      const [response] = await attack(keyless);
      expect(response?.body).not.toContain('[');
      expect([401, 404]).toContain(response?.status ?? 0);
    },
  );

  test.each([
    [app.url, '/./docs'],
    [app.url, '/x/../docs'],
    [app.url, '/docs/./guides'],
    [app.url, '/x/../livez'],
    [adminUrl(app), '/./metrics'],
    [adminUrl(app), '/x/../'],
    [adminUrl(app), '/assets/../'],
  ])('outside the API is compared as it was sent, without parsing the URL: %s%s', async (url, target) => {
    const get = `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
    expect(statusesOf(await exchange(url, get))).toEqual([404]);
  });

  test('in an HTTP/1.0 request without Host is accepted', async () => {
    const [response, ...more] = await exchange(app.url, `GET /v1/pets/0 HTTP/1.0\r\n${authorization}\r\n`);
    expect(response?.status).toBe(404);
    expect(response?.body).toContain('pet_not_found');
    expect(more).toEqual([]);
  });

  test('in a request to upgrade to another protocol gets an HTTP/1.1 response', async () => {
    for (const upgrade of ['websocket', 'h2c']) {
      const [response] = await attack(
        request('GET /v1/pets/0', 'odd', `Connection: Upgrade\r\nUpgrade: ${upgrade}\r\n`),
      );
      expect(response?.status).toBe(404);
    }
  });
});
