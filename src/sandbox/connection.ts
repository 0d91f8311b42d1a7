import { setTimeout as sleep } from 'node:timers/promises';
import type { Exchange } from '../http/server.ts';

const pieces = 10;
/** Shortest idle time-out of the runtime. Its timers are coarse, so closing takes about 4 s. */
const minIdleSeconds = 1;

/**
 * Closes the connection without a response. The runtime does so when a body fails before its first byte is sent; it
 * fails without an error, which would be printed. A response to HEAD has no body, so that connection is left to the
 * idle time-out.
 */
export async function cut({ incoming: { request }, closeAfter }: Exchange): Promise<Response> {
  const broken = () => new Response(new ReadableStream({ start: (controller) => controller.error() }));
  if (request.method !== 'HEAD') return broken();
  const { signal } = request;
  const gone = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => gone.resolve(), { once: true });
  // In the next event-loop tick: until a response is returned, the server keeps the connection open.
  await sleep(0);
  closeAfter(minIdleSeconds);
  if (!signal.aborted) await gone.promise;
  return new Response(null);
}

/** Waits; false if the client disconnects or the sandbox ends first. */
export async function held(ms: number, signals: readonly AbortSignal[]): Promise<boolean> {
  try {
    await sleep(ms, undefined, { signal: AbortSignal.any([...signals]) });
    return true;
  } catch {
    return false;
  }
}

/** Sends the body in pieces, with a pause before each and without `Content-Length`. */
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
