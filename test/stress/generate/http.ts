import type { Chance } from './chance.ts';

/** A request before serialization. `target` is relative to /v1. Headers are sent in this order. */
export interface HttpRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: Uint8Array;
  /** Chunk sizes of the body. If undefined, the body is sent whole with Content-Length. */
  readonly chunks?: readonly number[];
}

/** Serializes the request (RFC 9112). */
export function bytesOf({ method, target, headers, body, chunks }: HttpRequest): Uint8Array {
  const lines = [`${method} /v1${target} HTTP/1.1`, 'Host: animals.example'];
  for (const [name, value] of headers) lines.push(`${name}: ${value}`);
  if (body === undefined) return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  lines.push(chunks === undefined ? `Content-Length: ${body.length}` : 'Transfer-Encoding: chunked');
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return Buffer.concat([head, ...(chunks === undefined ? [body] : chunked(body, chunks))]);
}

function chunked(body: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  let at = 0;
  for (let index = 0; at < body.length; index++) {
    const piece = body.subarray(at, at + Math.max(1, sizes[index % sizes.length] ?? body.length));
    at += piece.length;
    pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
  }
  return [...pieces, Buffer.from('0\r\n\r\n')];
}

/**
 * An Authorization header with the key, in one of the spellings that HTTP allows (RFC 9110 section 11.1, RFC 6750
 * section 2.1).
 */
export function authorization(key: string, chance: Chance): [string, string] {
  const name = chance.pick(['Authorization', 'authorization', 'AUTHORIZATION']);
  return [
    name,
    `${chance.pick(['Bearer', 'Bearer', 'bearer', 'BEARER', 'bEaReR'])}${chance.pick([' ', ' ', '  '])}${key}`,
  ];
}

/** Headers that clients and proxies often send and that the service ignores. */
export function incidental(chance: Chance): [string, string][] {
  const all: [string, string][] = [
    ['Accept', '*/*'],
    ['Accept-Encoding', 'gzip, br'],
    ['User-Agent', 'proof/1.0 (é)'],
    ['X-Forwarded-For', '203.0.113.9'],
    ['Cookie', 'a=b; c="d"'],
    ['Origin', 'https://elsewhere.example'],
    ['Range', 'bytes=0-1'],
    ['Via', '1.1 proxy'],
    ['X-Empty', ''],
  ];
  return chance.shuffled(all).slice(0, chance.int(0, 3));
}

/** Encodes text for a query string, sometimes with characters percent-encoded unnecessarily. */
export function encoded(text: string, chance: Chance): string {
  if (chance.often(0.7)) return text;
  return text.replace(/[A-Za-z0-9_-]/g, (character) => {
    if (chance.often(0.6)) return character;
    const digits = character.charCodeAt(0).toString(16);
    return `%${chance.often(0.5) ? digits : digits.toUpperCase()}`;
  });
}
