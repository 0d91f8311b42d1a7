import { setTimeout as sleep } from 'node:timers/promises';
import type { Exchange } from '../src/http/server.ts';

const pieces = 10;
/** Enough time for the runtime to send the beginning of a body. */
export const flushDelayMs = 50;
const maxStallMs = 600_000;
/** Length of the beginning of an event that is sent, in bytes: `data: {"id":`. */
const halfLength = 12;
/**
 * Shortest idle timeout that the runtime supports. Because of the runtime's coarse timers, closing a connection takes
 * about 4 s.
 */
const minIdleSeconds = 1;

/**
 * Closes the connection without a response. The runtime closes the connection if the body of a response fails before
 * its first byte is sent. The body fails without an error object, because the runtime would print the error. A response
 * to HEAD has no body, so the idle timeout closes the connection instead.
 */
export async function cutResponse({ incoming: { request }, closeAfter }: Exchange): Promise<Response> {
  const broken = () => new Response(new ReadableStream({ start: (controller) => controller.error() }));
  if (request.method !== 'HEAD') return broken();
  const { signal } = request;
  const gone = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => gone.resolve(), { once: true });
  // Sets the timeout in the next event-loop tick, after `keepOpenUntilResponse` has disabled it.
  await sleep(0);
  closeAfter(minIdleSeconds);
  if (!signal.aborted) await gone.promise;
  return new Response(null);
}

/** Waits for `ms` milliseconds. Returns false if the client disconnects or the sandbox ends first. */
export async function delayResponse(ms: number, signals: readonly AbortSignal[]): Promise<boolean> {
  try {
    await sleep(ms, undefined, { signal: AbortSignal.any([...signals]) });
    return true;
  } catch {
    return false;
  }
}

/**
 * Sends an event stream up to the middle of its first event. Then closes the connection, or sends nothing more until the
 * client disconnects or the sandbox ends.
 */
export function streamHalf(
  response: Response,
  how: 'cut' | 'stall',
  { closeAfter }: Exchange,
  signals: readonly AbortSignal[],
): Response {
  if (response.status !== 200 || response.body === null) return response;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  let isBroken = false;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (isBroken) {
        // If the body failed at once, the runtime would not send the first half.
        await delayResponse(how === 'cut' ? flushDelayMs : maxStallMs, signals);
        return controller.error();
      }
      closeAfter(0);
      const { value } = await reader.read();
      if (value === undefined) return controller.close();
      const start = decoder.decode(value).indexOf('data: ');
      isBroken = start >= 0;
      // Events are JSON, whose ASCII beginning has as many bytes as characters.
      controller.enqueue(isBroken ? value.subarray(0, start + halfLength) : value);
      if (isBroken) await reader.cancel();
    },
    cancel: () => reader.cancel(),
  });
  return new Response(body, response);
}

/** Sends the body in pieces, with a pause before each piece and without `Content-Length`. */
export async function sendSlowly(
  response: Response,
  pauseMs: number,
  signals: readonly AbortSignal[],
): Promise<Response> {
  if (response.body === null) return response;
  const bytes = await response.bytes();
  const length = Math.max(1, Math.ceil(bytes.length / pieces));
  let from = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (!(await delayResponse(pauseMs, signals))) return controller.error();
      if (from < bytes.length) controller.enqueue(bytes.subarray(from, from + length));
      from += length;
      if (from >= bytes.length) controller.close();
    },
  });
  return new Response(body, response);
}
