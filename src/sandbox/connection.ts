import { setTimeout as sleep } from 'node:timers/promises';
import type { Exchange } from '../http/server.ts';

const pieces = 10;
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
export async function cut({ incoming: { request }, closeAfter }: Exchange): Promise<Response> {
  const broken = () => new Response(new ReadableStream({ start: (controller) => controller.error() }));
  if (request.method !== 'HEAD') return broken();
  const { signal } = request;
  const gone = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => gone.resolve(), { once: true });
  // Sets the timeout in the next event-loop tick, after `keepOpenUntilAnswered` has disabled it.
  await sleep(0);
  closeAfter(minIdleSeconds);
  if (!signal.aborted) await gone.promise;
  return new Response(null);
}

/** Waits for `ms` milliseconds. Returns false if the client disconnects or the sandbox ends first. */
export async function held(ms: number, signals: readonly AbortSignal[]): Promise<boolean> {
  try {
    await sleep(ms, undefined, { signal: AbortSignal.any([...signals]) });
    return true;
  } catch {
    return false;
  }
}

/** Sends the body in pieces, with a pause before each piece and without `Content-Length`. */
export async function slowly(
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
      if (!(await held(pauseMs, signals))) return controller.error();
      if (from < bytes.length) controller.enqueue(bytes.subarray(from, from + length));
      from += length;
      if (from >= bytes.length) controller.close();
    },
  });
  return new Response(body, response);
}
