/** Failures that clients see while the service restarts. Requests with a lost response are applied. */
export const failures = {
  'refused connections': () => failed('ECONNREFUSED'),
  'unknown hosts': () => failed('ENOTFOUND'),
  'broken connections': () => failed('ECONNRESET'),
  'lost responses': async (perform: () => Promise<Response>) => {
    await perform();
    return failed('ECONNRESET');
  },
  "a proxy's 502": () => page(502),
  "a proxy's 503": () => page(503),
  "a proxy's 504": () => page(504),
  "Cloudflare's 522": () => page(522),
  'a 503 with Retry-After': () =>
    errorOf(503, 'service_unavailable', 'Nothing was changed.', { 'retry-after': '5' }),
} as const satisfies Record<string, Failure>;

/** Responds instead of the service. `perform` sends the request. */
export type Failure = (perform: () => Promise<Response>) => Response | Promise<Response>;

export const json = { 'content-type': 'application/json' };

export function failed(code: string): never {
  throw Object.assign(new TypeError('fetch failed'), { cause: Object.assign(new Error(code), { code }) });
}

export function page(status: number): Response {
  return new Response('<h1>Sorry</h1>', { status, headers: { 'content-type': 'text/html' } });
}

export function errorOf(
  status: number,
  code: string,
  message: string,
  headers: Record<string, string> = {},
): Response {
  return new Response(JSON.stringify({ code, message, status }), {
    status,
    headers: { ...json, ...headers },
  });
}
