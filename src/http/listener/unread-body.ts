import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Awaitable, andThen } from '../../domain/awaitable.ts';
import type { Clock } from '../../domain/clock.ts';
import { ClientRateLimiter } from './unmetered-responses.ts';

/** Time for a body to arrive. */
export const bodyTimeoutMs = 10_000;
/**
 * Time for the body of a rejected request to arrive. It is shorter, because the runtime also parses data that is not part
 * of any chunk, such as a chunk size with millions of zeros, and any client can send it without a key.
 */
const dropTimeoutMs = 2_000;
/**
 * Maximum number of bytes to read and discard from a body. The number of chunks is also limited, because even a small
 * chunk costs 1 µs of CPU time.
 */
export const maxDroppedBytes = 65_536;
export const maxDroppedChunks = 256;
/**
 * Maximum number of bodies to read and discard per minute and client network, of requests that do not count against a
 * limit.
 */
export const maxDroppedPerMinute = 100;
/**
 * Maximum number of responses that wait for the rest of a body. The runtime parses up to 512 KiB of each body in every
 * event-loop tick, which takes 2 ms in small chunks.
 */
export const maxWaiting = 4;
const waitMs = 1_000;

/** A request, and the client that sent it. */
interface Incoming {
  readonly request: Request;
  network(): string;
  /** Whether the response does not count against a limit. */
  isUnmetered(response: Response): boolean;
}

/** The bodies of chunked requests that are rejected, or need no body. */
export class UnreadBodies {
  readonly #dropped: ClientRateLimiter;
  readonly #onUnread: () => void;
  readonly #timeoutMs: number;

  /** `onUnread` is called for each response that is sent without reading the body. `timeoutMs` limits each read. */
  constructor(clock: Clock, onUnread: () => void = () => undefined, timeoutMs = dropTimeoutMs) {
    this.#onUnread = onUnread;
    this.#timeoutMs = timeoutMs;
    this.#dropped = new ClientRateLimiter(maxDroppedPerMinute, clock, maxWaiting);
  }

  /**
   * Closes the connection after the response if the request is chunked, because the runtime itself sends an error
   * response for a malformed chunk or a trailer, even after the service's response. A proxy would treat that error as the
   * response to another client's request (RFC 9112, section 9.6). The response waits for the end of the body, because a
   * client that is still sending may see the connection reset before the response.
   */
  closeAfterChunked(incoming: Incoming, pending: Awaitable<Response>): Awaitable<Response> {
    // Uses `get`, because it is twice as fast as `has`.
    if (incoming.request.headers.get('transfer-encoding') === null) return pending;
    return andThen(pending, (response) => {
      response.headers.set('Connection', 'close');
      if (this.#mayDrop(incoming, response)) return this.#afterBody(incoming.request, response);
      this.#onUnread();
      return response;
    });
  }

  /**
   * Returns false if the response must be sent at once. The runtime then closes the connection without receiving more of
   * the body. While a request waits, even if its body is not read, the runtime parses up to 512 KiB of it, which takes
   * milliseconds in small chunks. After that response, the runtime may also respond to a malformed chunk, which proxies
   * ignore, because the connection is closed.
   */
  #mayDrop(incoming: Incoming, response: Response): boolean {
    // Reading small chunks costs several times as much as parsing them, and such bodies are probably an attack.
    if (this.#dropped.isFull) return false;
    const isCounted = incoming.isUnmetered(response) && !incoming.request.bodyUsed;
    return !isCounted || this.#dropped.take(incoming.network()) === 0;
  }

  async #afterBody({ body }: Request, response: Response): Promise<Response> {
    // After a read timeout, the body is still locked by its reader.
    const hasMore = body !== null && !body.locked && (await drop(body, this.#timeoutMs));
    // In this time, most clients send the rest, which is not read.
    if (hasMore) await this.#dropped.delay(waitMs);
    await waitForParser();
    return response;
  }
}

/**
 * Resolves when the runtime has parsed all data received so far. For malformed data, the runtime has by then sent 400,
 * closed the connection, and aborted the request's signal.
 */
export function waitForParser(): Promise<void> {
  return nextTurn();
}

/** Discards the body. Returns whether it has more chunks than may be discarded. */
async function drop(body: ReadableStream<Uint8Array>, timeoutMs: number): Promise<boolean> {
  let timer: Timer | undefined;
  const tooSlow = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  return Promise.race([dropChunks(body), tooSlow]).finally(() => clearTimeout(timer));
}

async function dropChunks(body: ReadableStream<Uint8Array>): Promise<boolean> {
  let bytes = 0;
  let chunks = 0;
  try {
    for await (const { length } of readPart(body)) {
      bytes += length;
      chunks++;
      if (bytes >= maxDroppedBytes) return false;
      if (chunks >= maxDroppedChunks) return true;
    }
  } catch {
    // The client disconnected, or the runtime has already responded to a malformed chunk.
  }
  return false;
}

/**
 * Reads a body whose reader may stop early. The stream is not canceled: the runtime would then receive and parse all the
 * client sends until the response, and the rest could not be discarded.
 */
export function readPart(body: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
  return body.values({ preventCancel: true });
}
