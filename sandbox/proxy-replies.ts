/** Simulates a proxy that replaces or corrupts the service's responses. */
import { setTimeout as sleep } from 'node:timers/promises';
import { flushDelayMs } from './connection.ts';

export const replyNames = [
  'html-502',
  'html-503',
  'html-504',
  'html-404',
  'redirect',
  'wrong-type',
  'half-body',
] as const;

export type ReplyName = (typeof replyNames)[number];

/** Titles of pages that replace the response. Such pages have none of the service's headers. */
const pages: Readonly<Partial<Record<ReplyName, string>>> = {
  'html-502': '502 Bad Gateway',
  'html-503': '503 Service Temporarily Unavailable',
  'html-504': '504 Gateway Time-out',
  'html-404': '404 Not Found',
};

/** Whether the service processes the request. False if the proxy responds without forwarding the request. */
export function reachesService(name: ReplyName): boolean {
  return name === 'html-504' || changesBody(name);
}

export function changesBody(name: ReplyName): boolean {
  return name === 'wrong-type' || name === 'half-body';
}

/** Returns the response for the client. `response` is the service's response if it processed the request. */
export async function createProxyReply(name: ReplyName, response: Response | undefined): Promise<Response> {
  const title = pages[name];
  // If the response is a stream, this ends the stream.
  if (title !== undefined || name === 'redirect') await response?.body?.cancel();
  if (title !== undefined) {
    const text = `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n</body>\r\n</html>\r\n`;
    const headers = { 'Content-Type': 'text/html' };
    return new Response(text, { status: Number.parseInt(title, 10), headers });
  }
  if (name === 'redirect' || response === undefined) {
    return new Response(null, { status: 302, headers: { Location: 'https://sign-in.example.com/' } });
  }
  if (name === 'half-body') return halved(response);
  response.headers.set('Content-Type', 'text/html');
  return response;
}

async function halved(response: Response): Promise<Response> {
  const bytes = await response.bytes();
  const half = bytes.subarray(0, Math.ceil(bytes.length / 2));
  let isSent = false;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (!isSent) {
        isSent = true;
        return controller.enqueue(half);
      }
      // If the body failed before the first half is sent, the runtime would send nothing.
      await sleep(flushDelayMs);
      controller.error();
    },
  });
  return new Response(body, response);
}
