import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Awaitable } from '../domain/awaitable.ts';

/** How long a body may take to arrive in full. */
export const bodyTimeoutMs = 10_000;

/**
 * Holds an answer back until its request's chunked body has been read to the end, or closes the connection with
 * it: when the runtime finds a malformed chunk behind an answer, it sends another one of its own. Closing
 * alone would not do, for a client that is still writing sees the reset before the answer.
 */
export async function afterChunkedBody(request: Request, answer: Awaitable<Response>): Promise<Response> {
  const response = await answer;
  if (!(await isReadToEnd(request))) response.headers.set('Connection', 'close');
  return response;
}

async function isReadToEnd(request: Request): Promise<boolean> {
  const { body } = request;
  if (body === null) {
    // The runtime keeps the body of a GET to itself. A turn later it has checked what came together with the head.
    await nextTurn();
    return false;
  }
  // Whoever read it gave up waiting.
  if (body.locked) return false;
  return request.bodyUsed || readAndDropped(body);
}

/** Whether the rest arrived in time. */
async function readAndDropped(body: ReadableStream<Uint8Array>): Promise<boolean> {
  let timer: Timer | undefined;
  const tooSlow = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, bodyTimeoutMs, false);
  });
  return Promise.race([readAll(body), tooSlow]).finally(() => clearTimeout(timer));
}

async function readAll(body: ReadableStream<Uint8Array>): Promise<boolean> {
  try {
    for await (const _ of body);
    return true;
  } catch {
    // The client went away or garbled its chunks, which the runtime has answered.
    return false;
  }
}
