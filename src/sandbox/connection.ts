import { setTimeout as sleep } from 'node:timers/promises';
import type { Exchange } from '../http/server.ts';

/** In how many pieces a slow body is sent. */
const pieces = 10;
/** The least that the runtime closes a connection after; its timers are coarse, so that it takes some 4 s. */
const leastIdleSeconds = 1;

/**
 * Breaks the connection without an answer. The runtime does so when a body fails before anything of it was sent, which
 * is why it fails with nothing: an error would be printed. An answer to HEAD has no body; that connection is left to the
 * time-out of idle ones.
 */
export async function cut({ incoming: { request }, closeAfter }: Exchange): Promise<Response> {
  const broken = () => new Response(new ReadableStream({ start: (controller) => controller.error() }));
  if (request.method !== 'HEAD') return broken();
  const { signal } = request;
  const gone = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => gone.resolve(), { once: true });
  // A turn later: until an answer is there, the server keeps the connections of requests open.
  await sleep(0);
  closeAfter(leastIdleSeconds);
  if (!signal.aborted) await gone.promise;
  return new Response(null);
}

/** Waits; false when the client went away or the sandbox ends meanwhile. */
export async function held(ms: number, signals: readonly AbortSignal[]): Promise<boolean> {
  try {
    await sleep(ms, undefined, { signal: AbortSignal.any([...signals]) });
    return true;
  } catch {
    return false;
  }
}

/** The answer with its body in pieces, and a pause before each. Its length is not announced. */
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
