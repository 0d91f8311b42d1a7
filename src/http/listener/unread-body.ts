import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Awaitable } from '../../domain/awaitable.ts';

export const bodyTimeoutMs = 10_000;
/**
 * Maximum number of bytes to read and discard from a body. The number of chunks is also limited, because even a small
 * chunk costs 1 µs of CPU time.
 */
export const maxDroppedBytes = 65_536;
export const maxDroppedChunks = 16;

/**
 * Closes the connection after the response if the request is chunked, because the runtime itself sends an error response
 * for a malformed chunk or a trailer, even after the service's response. A proxy would treat that error as the response
 * to another client's request (RFC 9112, section 9.6). The response waits for the end of the body, up to a limit, because
 * a client that is still sending may see the connection reset before the response.
 */
export function closeAfterChunkedBody(request: Request, pending: Awaitable<Response>): Awaitable<Response> {
  // Uses `get`, because it is twice as fast as `has`.
  return request.headers.get('transfer-encoding') === null ? pending : closing(request, pending);
}

async function closing(request: Request, pending: Awaitable<Response>): Promise<Response> {
  const response = await pending;
  // After a read timeout, the body is still locked by its reader.
  if (request.body !== null && !request.body.locked && !request.bodyUsed) await drop(request.body);
  await waitForParser();
  response.headers.set('Connection', 'close');
  return response;
}

/**
 * Resolves when the runtime has parsed all data received so far. For malformed data, the runtime has by then sent 400,
 * closed the connection, and aborted the request's signal.
 */
export function waitForParser(): Promise<void> {
  return nextTurn();
}

/** Returns a function that counts a discarded chunk, and returns whether another chunk may be read. */
export function createDropBudget(): (chunk: Uint8Array) => boolean {
  let bytes = 0;
  let chunks = 0;
  return ({ length }) => {
    bytes += length;
    chunks++;
    return bytes < maxDroppedBytes && chunks < maxDroppedChunks;
  };
}

async function drop(body: ReadableStream<Uint8Array>): Promise<void> {
  let timer: Timer | undefined;
  const tooSlow = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, bodyTimeoutMs);
  });
  return Promise.race([dropChunks(body), tooSlow]).finally(() => clearTimeout(timer));
}

async function dropChunks(body: ReadableStream<Uint8Array>): Promise<void> {
  const mayDropMore = createDropBudget();
  try {
    for await (const chunk of body) if (!mayDropMore(chunk)) return;
  } catch {
    // The client disconnected, or the runtime has already responded to a malformed chunk.
  }
}
