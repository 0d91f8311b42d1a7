/** Bytes designed to make two HTTP parsers disagree about where a request ends. */
import { chunks, codings, lengths } from './raw-attacks-framing.ts';
import { headerAttacks, headerFloods, hosts, lineEnds, requestLines } from './raw-attacks-heads.ts';
import { type Attack, type AttackKeys, animal, json, type Kit } from './raw-attacks-kit.ts';

export function attackTable({ open, hidden }: AttackKeys): Attack[] {
  const withKey = (key: string, line: string, headers = '', body = '') =>
    `${line} HTTP/1.1\r\nHost: animals.example\r\nAuthorization: Bearer ${key}\r\n${headers}\r\n${body}`;
  const request = (line: string, headers = '', body = '') => withKey(open, line, headers, body);
  const secret = withKey(hidden, 'GET /v1/pets/0', 'X-Request-Id: hidden\r\n');
  const last = request('GET /v1/pets/0', 'Connection: close\r\n');
  const post = (headers: string, body: string) => request('POST /v1/pets', json + headers, body);
  const kit: Kit = { request, withKey, post, secret, last, open, hidden };
  const tables = [
    codings,
    lengths,
    lineEnds,
    chunks,
    requestLines,
    hosts,
    headerFloods,
    headerAttacks,
    pipelines,
  ];
  return tables.flatMap((table) => table(kit)).map(({ what, bytes }) => ({ what, bytes: bytes + last }));
}

/** Pipelined requests, most of them after a body that the service does not read. */
function pipelines({ request, post, withKey, secret, hidden }: Kit): Attack[] {
  const many = [2, 3, 10, 50].map((count) => ({
    what: `${count} requests that alternate between two keys`,
    bytes: Array.from({ length: count }, (_, index) =>
      index % 2 === 0 ? request('GET /v1/pets/0') : withKey(hidden, 'GET /v1/pets/0'),
    ).join(''),
  }));
  const body = `Content-Length: ${secret.length}\r\n`;
  const coded = `${secret.length.toString(16)}\r\n${secret}\r\n0\r\n\r\n`;
  const unread: [string, string, string][] = [
    ['404', 'POST /v1/elsewhere', json],
    ['405', 'PUT /v1/pets', json],
    ['415', 'POST /v1/pets', 'Content-Type: text/plain\r\n'],
    ['a path outside /v1', 'POST /elsewhere', json],
    ['the documentation', 'GET /docs', ''],
  ];
  const large = secret.padEnd(20_000);
  return [
    ...many,
    ...unread.flatMap(([what, line, headers]) => [
      { what: `a body after ${what}`, bytes: request(line, headers + body, secret) },
      {
        what: `a chunked body after ${what}`,
        bytes: request(line, `${headers}Transfer-Encoding: chunked\r\n`, coded),
      },
    ]),
    { what: 'a body after 413', bytes: post(`Content-Length: ${large.length}\r\n`, large) },
    {
      what: 'a chunked body after 413',
      bytes: post('Transfer-Encoding: chunked\r\n', `${large.length.toString(16)}\r\n${large}\r\n0\r\n\r\n`),
    },
    { what: 'a body after 401', bytes: withKey('nobody', 'POST /v1/pets', json + body, secret) },
    {
      what: 'a chunked body after 401',
      bytes: withKey('nobody', 'POST /v1/pets', `${json}Transfer-Encoding: chunked\r\n`, coded),
    },
    {
      what: 'a create request, then a read',
      bytes: post(`Content-Length: ${animal.length}\r\n`, animal) + request('GET /v1/pets/0'),
    },
    { what: 'three create requests', bytes: post(`Content-Length: ${animal.length}\r\n`, animal).repeat(3) },
    { what: 'a request cut in two', bytes: request('GET /v1/pets/0').slice(0, -10) },
  ];
}
