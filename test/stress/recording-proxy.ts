/** A proxy before the service that remembers each request, for proofs about what clients send and when. */

/** A request that was answered. Instants are milliseconds of this process's monotonic clock. */
export interface Recorded {
  /** The first segment of the path it came by, which each client has of its own: its `url` ends in it. */
  readonly client: string;
  readonly target: string;
  readonly arrivedAtMs: number;
  readonly answeredAtMs: number;
  readonly status: number;
  /** Undefined where the answer has no Retry-After. */
  readonly retryAfterSeconds: number | undefined;
  /** X-RateLimit-Remaining. */
  readonly remaining: number;
}

export interface RecordingProxy extends AsyncDisposable {
  /** The address for a client of that name. */
  urlFor(client: string): string;
  readonly requests: readonly Recorded[];
}

/** Each request goes to the next of the services. */
export function recordingProxy(urls: readonly string[]): RecordingProxy {
  const requests: Recorded[] = [];
  let next = 0;
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    async fetch(request) {
      const arrivedAtMs = performance.now();
      const { pathname, search } = new URL(request.url);
      const [, client = '', target = '/'] = /^\/([^/]+)(\/.*)$/.exec(pathname) ?? [];
      const answer = await fetch(`${urls[next++ % urls.length]}${target}${search}`, {
        method: request.method,
        headers: request.headers,
        body: request.body === null ? null : await request.arrayBuffer(),
        decompress: false,
        redirect: 'manual',
      });
      const body = await answer.arrayBuffer();
      const retryAfter = answer.headers.get('retry-after');
      requests.push({
        client,
        target: target + search,
        arrivedAtMs,
        answeredAtMs: performance.now(),
        status: answer.status,
        retryAfterSeconds: retryAfter === null ? undefined : Number(retryAfter),
        remaining: Number(answer.headers.get('x-ratelimit-remaining')),
      });
      return new Response(answer.status === 204 || answer.status === 304 ? null : body, {
        status: answer.status,
        headers: answer.headers,
      });
    },
  });
  return {
    urlFor: (client) => `http://127.0.0.1:${server.port}/${client}`,
    requests,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

/** What is sent so soon after a refusal may have been under way; the service's rule of strikes says the same. */
const underWayMs = 1_000;
/** Timers end up to a millisecond early. */
const timerMs = 2;

/** Asking what is left, which is free and may be done at any time. */
export const isQuestion = ({ target }: Recorded): boolean => target === '/v1/rate-limit';

/**
 * The requests that a client sent although a refusal had told it to wait longer, and nothing had told it since that there are
 * requests left.
 */
export function sentDuringWaits(requests: readonly Recorded[]): Recorded[] {
  const clients = Map.groupBy(requests, ({ client }) => client);
  return [...clients.values()].flatMap((sent) => {
    const waits = sent.flatMap((refusal) => waitOf(refusal, sent));
    return sent.filter(
      (request) =>
        !isQuestion(request) &&
        waits.some(({ fromMs, untilMs }) => request.arrivedAtMs > fromMs && request.arrivedAtMs < untilMs),
    );
  });
}

function waitOf({ answeredAtMs, retryAfterSeconds }: Recorded, sent: readonly Recorded[]) {
  if (retryAfterSeconds === undefined) return [];
  const told = sent.find(
    (answer) => isQuestion(answer) && answer.arrivedAtMs > answeredAtMs && answer.remaining > 0,
  );
  const untilMs = answeredAtMs + retryAfterSeconds * 1_000 - timerMs;
  return [{ fromMs: answeredAtMs + underWayMs, untilMs: Math.min(untilMs, told?.answeredAtMs ?? untilMs) }];
}
