/** What attackers write on a socket to make two readers of HTTP disagree about where a request ends. */
import { chunks, codings, lengths } from './raw-attacks-framing.ts';
import { headerAttacks, headerFloods, hosts, lineEnds, requestLines } from './raw-attacks-heads.ts';
import { type Attack, type AttackKeys, json, type Kit } from './raw-attacks-kit.ts';
import { pipelines } from './raw-attacks-pipelines.ts';

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
