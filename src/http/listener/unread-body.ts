import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Awaitable } from '../../domain/awaitable.ts';

export const bodyTimeoutMs = 10_000;
/**
 * Maximum number of bytes read of an unused body. The number of chunks is limited as well, because even a small chunk
 * costs 2 µs of CPU.
 */
export const maxDroppedBytes = 65_536;
export const maxDroppedChunks = 256;

/**
 * Closes the connection with the response to a chunked request, because the runtime itself responds to a malformed
 * chunk or a trailer, even after ours. A proxy would treat that as the response to another client's request (RFC 9112,
 * section 9.6). The response waits for the end of the body, up to a bound: a client that is still writing may see the
 * reset before the response.
 */
export async function afterChunkedBody(request: Request, answer: Awaitable<Response>): Promise<Response> {
  const response = await answer;
  // The body is locked if its reader timed out.
  if (request.body !== null && !request.body.locked && !request.bodyUsed) await drop(request.body);
  await remainderParsed();
  response.headers.set('Connection', 'close');
  return response;
}

/**
 * Resolves when the runtime has parsed all data that arrived with the part already read. If the data is malformed, the
 * runtime has then sent 400, closed the connection, and aborted the request's signal.
 */
export function remainderParsed(): Promise<void> {
  return nextTurn();
}

/** A budget for dropped chunks: counts one, and returns whether another one may be read. */
export function dropBudget(): (chunk: Uint8Array) => boolean {
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
  const mayDropMore = dropBudget();
  try {
    for await (const chunk of body) if (!mayDropMore(chunk)) return;
  } catch {
    // The client disconnected, or sent a malformed chunk, to which the runtime has responded.
  }
}
