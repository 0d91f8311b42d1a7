/** Attacks on the request head: header lines, line ends, target, Host and key. */
import { type Attack, animal, type Kit } from './raw-attacks-kit.ts';
import { texts, words } from './words.ts';

export function lineEnds({ request, post, secret, open }: Kit): Attack[] {
  const get = request('GET /v1/pets/0', 'X-A: b\r\n');
  const key = `Authorization: Bearer ${open}`;
  const variants: [string, string][] = [
    ['bare LF everywhere', get.replaceAll('\r\n', '\n')],
    ['bare LF after the request line', get.replace('\r\n', '\n')],
    ['bare LF after a header', get.replace('b\r\n', 'b\n')],
    ['bare LF at the end', get.replace(/\r\n$/, '\n')],
    ['bare LF twice at the end', get.replace(/\r\n\r\n$/, '\n\n')],
    ['bare CR everywhere', get.replaceAll('\r\n', '\r')],
    ['bare CR after a header', get.replace('b\r\n', 'b\r')],
    ['CR CR LF', get.replace('b\r\n', 'b\r\r\n')],
    ['CR in a value', get.replace('X-A: b', 'X-A: b\rc')],
    ['obs-fold with a space', get.replace('X-A: b', 'X-A: b\r\n c')],
    ['obs-fold with a tab', get.replace('X-A: b', 'X-A: b\r\n\tc')],
    ['obs-fold of the first header', get.replace('Host', ' Host')],
    ['obs-fold in the key', get.replace('Bearer ', 'Bearer\r\n ')],
    ['obs-fold with a length', post(`X-A: b\r\n Content-Length: ${secret.length}\r\n`, secret)],
    ['an obs-folded length', post(`Content-Length:\r\n ${secret.length}\r\n`, secret)],
    ['empty lines before the request', `\r\n\r\n${get}`],
    ['an LF before the request', `\n${get}`],
    ['a space before the request', ` ${get}`],
    ['a hundred empty lines before the request', '\r\n'.repeat(100) + get],
    ['NUL in a value', get.replace('X-A: b', 'X-A: b\0c')],
    ['NUL in a name', get.replace('X-A', 'X-\0A')],
    ['an LF in the target', get.replace('/v1/pets/0', '/v1/pets\n/0')],
    ['a request in a value after CR LF', get.replace('X-A: b', `X-A: b\r\n\r\n${secret.trimEnd()}`)],
    [
      'a request in a value after LF',
      get.replace('X-A: b', `X-A: b\n\n${secret.replaceAll('\r\n', '\n').trimEnd()}`),
    ],
    ['VT as a line end', get.replace('b\r\n', 'b\x0b')],
    ['NEL as a line end', get.replace('b\r\n', 'b\x85')],
    ['the key after a bare LF', get.replace(`${key}\r\n`, `X: a\n${key}\r\n`)],
    ['a header without a name', get.replace('X-A: b', ': b')],
    ['a header without a colon', get.replace('X-A: b', 'X-A')],
    ['a space in a name', get.replace('X-A', 'X A')],
    ['a space before a colon', get.replace('X-A:', 'X-A :')],
  ];
  return variants.map(([what, bytes]) => ({ what, bytes }));
}

const oddLines = [
  ...texts('GET  /v1/pets/0|GET\t/v1/pets/0| GET /v1/pets/0|GET /v1/pets/0 |GET /v1/pets/0 HTTP/1.1'),
  ...texts('get /v1/pets/0|GeT /v1/pets/0|FOO /v1/pets/0|GET, /v1/pets/0'),
  ...texts('GET http://animals.example/v1/pets/0|GET HTTP://other.example/v1/pets/0'),
  ...texts('GET //animals.example/v1/pets/0|GET animals.example:80|CONNECT animals.example:80'),
  ...texts('CONNECT /v1/pets/0|OPTIONS *|GET *|GET ?limit=1|GET v1/pets/0|GET /v1/pets/0#a'),
  ...texts('GET /v1/pets/0?a=b#c|GET /v1/pets/%00|GET /v1/pets/\x7f|GET /v1/pets/\xff|GET /v1\\pets\\0'),
  ...texts('GET /v1/../v1/pets/0|GET /v1/pets/0%0d%0aX:%20a|GET /v1/pets/0%20HTTP/1.1%0d%0a|PRI *'),
  ...texts('TRACE /v1/pets/0|HEAD /v1/pets/0|PROPFIND /v1/pets/0|GET file:///v1/pets/0'),
  ...texts('GET http:///v1/pets/0|GET http://a@b/v1/pets/0|GET /v1/pets/0;a'),
];

const oddVersions = [
  ...words`
    HTTP/1.0 HTTP/0.9 HTTP/1.2 HTTP/1.10 HTTP/2.0 HTTP/2 HTTP/11 HTTP/1.1x http/1.1 HTTPS/1.1
    HTTP/1,1
  `,
  ...texts('HTTP/ 1.1||HTTP/1.1 |HTTP/1.1\t'),
];

export function requestLines({ request, post, secret }: Kit): Attack[] {
  const odd = oddLines.map((line) => ({
    what: `the request line ${JSON.stringify(line)}`,
    bytes: request(line),
  }));
  const versions = oddVersions.map((version) => ({
    what: `the version ${JSON.stringify(version)}`,
    bytes: request('GET /v1/pets/0').replace('HTTP/1.1', version),
  }));
  const former = (what: string, bytes: string) => ({ what, bytes: bytes.replace('HTTP/1.1', 'HTTP/1.0') });
  return [
    ...odd,
    ...versions,
    former('a length on HTTP/1.0', post(`Content-Length: ${secret.length}\r\n`, secret)),
    former('chunks on HTTP/1.0', post('Transfer-Encoding: chunked\r\n', `0\r\n\r\n${secret}`)),
    former('HTTP/1.0 kept alive', request('GET /v1/pets/0', 'Connection: keep-alive\r\n')),
  ];
}

export function hosts({ request }: Kit): Attack[] {
  const get = request('GET /v1/pets/0');
  const host = 'Host: animals.example\r\n';
  const values = [
    ...words`a,b a/b a/v1/pets? a#b a?b a@b a:b a:99999 [::1] [::1 a\b a%00 "a" ..`,
    ...texts('| |a b|\xe9'),
    'a'.repeat(5_000),
  ];
  const odd = values.map((value) => ({
    what: `Host: ${value.slice(0, 20)}`,
    bytes: get.replace('animals.example', value),
  }));
  return [
    ...odd,
    ...[
      ['no Host', ''],
      ['two Hosts', `${host}Host: other.example\r\n`],
      ['the same Host twice', host + host],
    ].map(([what = '', instead = '']) => ({ what, bytes: get.replace(host, instead) })),
    { what: 'a Host header with a space before the colon', bytes: get.replace('Host:', 'Host :') },
  ];
}

export function headerFloods({ request }: Kit): Attack[] {
  const get = (headers: string) => request('GET /v1/pets/0', headers);
  const counts = [10, 60, 95, 98, 99, 100, 101, 150, 1_000].map((count) => ({
    what: `${count} headers`,
    bytes: get(Array.from({ length: count }, (_, index) => `X-${index}: a\r\n`).join('')),
  }));
  const sizes = [4_000, 7_900, 8_200, 15_000, 16_384, 17_000, 33_000, 100_000].map((size) => ({
    what: `a header of ${size} bytes`,
    bytes: get(`X-Long: ${'a'.repeat(size)}\r\n`),
  }));
  return [...counts, ...sizes];
}

export function headerAttacks({ request, post, withKey, open, hidden, secret }: Kit): Attack[] {
  const get = (headers: string) => request('GET /v1/pets/0', headers);
  const named: [string, string][] = [
    ['two keys', get(`Authorization: Bearer ${hidden}\r\n`)],
    ['two keys in reverse order', withKey(hidden, 'GET /v1/pets/0', `Authorization: Bearer ${open}\r\n`)],
    ['two keys in one header', request('GET /v1/pets/0').replace(open, `${open}, Bearer ${hidden}`)],
    ['a key in another spelling', request('GET /v1/pets/0').replace('Authorization:', 'authorization :')],
    ['a key in a header whose name starts with an underscore', get(`_Authorization: Bearer ${hidden}\r\n`)],
    ['Proxy-Authorization', get(`Proxy-Authorization: Bearer ${hidden}\r\n`)],
    ['the key named in Connection', get('Connection: Authorization\r\n')],
    [
      'Content-Length named in Connection',
      post(`Connection: Content-Length\r\nContent-Length: ${secret.length}\r\n`, secret),
    ],
    [
      'Transfer-Encoding named in Connection',
      post('Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n', `0\r\n\r\n${secret}`),
    ],
    [
      'an upgrade to h2c',
      get(
        'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n',
      ) + secret,
    ],
    [
      'an upgrade to WebSocket',
      get(
        'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n',
      ) + secret,
    ],
    ['TE: trailers', get('TE: trailers\r\nConnection: TE\r\n')],
    ['Expect: 100-continue', post(`Expect: 100-continue\r\nContent-Length: ${animal.length}\r\n`, animal)],
    ['Expect: 100-continue and no body', request('GET /v1/pets/0', 'Expect: 100-continue\r\n')],
    [
      'Expect: 100-continue, refused',
      request('PUT /v1/pets', `Expect: 100-continue\r\nContent-Length: ${secret.length}\r\n`, secret),
    ],
    ['Expect: tea', post(`Expect: tea\r\nContent-Length: ${animal.length}\r\n`, animal)],
    ['X-HTTP-Method-Override', get('X-HTTP-Method-Override: DELETE\r\n')],
    ['a request after Connection: close', get('Connection: close\r\n') + secret],
  ];
  return named.map(([what, bytes]) => ({ what, bytes }));
}
