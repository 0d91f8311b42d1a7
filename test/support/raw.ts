import { connect } from 'node:net';
import { maxWaitMs } from './wait.ts';

export interface RawResponse {
  readonly status: number;
  /** Headers, keyed by lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/**
 * Writes bytes to a new connection, piece by piece, and returns all responses until the service closes the connection.
 * The last piece must contain `Connection: close` or a malformed request.
 */
export function exchange(url: string, ...pieces: (string | Uint8Array)[]): Promise<RawResponse[]> {
  return converse(url, pieces, false);
}

/** Like `exchange`, but the client closes its side of the connection after the bytes, as if it aborted a request. */
export function sendAndHalfClose(url: string, ...pieces: (string | Uint8Array)[]): Promise<RawResponse[]> {
  return converse(url, pieces, true);
}

async function converse(
  url: string,
  pieces: readonly (string | Uint8Array)[],
  ends: boolean,
): Promise<RawResponse[]> {
  const { hostname, port } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const chunks: Buffer[] = [];
  const received = () => Buffer.concat(chunks).toString('latin1');
  const socket = connect({ host: hostname, port: Number(port), noDelay: true, allowHalfOpen: true });
  socket.setTimeout(maxWaitMs, () =>
    reject(new Error(`The connection was not closed. Received:\n${received()}`)),
  );
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  // The connection may be reset while a rejected request is still being written.
  socket.on('error', () => resolve());
  socket.on('end', () => resolve());
  socket.on('close', () => resolve());
  for (const piece of pieces) socket.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece);
  if (ends) socket.end();
  await promise.finally(() => socket.destroy());
  return responsesOf(received());
}

/**
 * Splits a stream into responses. Throws if bytes remain. If the request id begins with `head`, the response belongs to
 * a HEAD request and has a length but no body.
 */
export function responsesOf(stream: string): RawResponse[] {
  const responses: RawResponse[] = [];
  for (let rest = stream; rest !== ''; ) {
    const [head = '', status] = /^HTTP\/1\.1 (\d{3}) [^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n/.exec(rest) ?? [];
    if (head === '') throw new Error(`This is not a response: ${JSON.stringify(rest.slice(0, 200))}`);
    const lines = head.split('\r\n').slice(1, -2);
    const headers = new Map(lines.map((line) => [nameOf(line), line.slice(line.indexOf(':') + 1).trim()]));
    const isHead = headers.get('x-request-id')?.startsWith('head') ?? false;
    const length = isHead ? 0 : Number(headers.get('content-length') ?? 0);
    responses.push({ status: Number(status), headers, body: rest.slice(head.length, head.length + length) });
    rest = rest.slice(head.length + length);
  }
  return responses;
}

function nameOf(line: string): string {
  return line.slice(0, line.indexOf(':')).toLowerCase();
}
