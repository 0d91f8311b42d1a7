import { onAbort } from './abort.js';
import { maxTimerMs } from './clock.js';
import { ConnectionError, TimeoutError } from './errors.js';
import type { Fetch } from './settings.js';

/** A response whose body has been read, or is an event stream. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body of an event stream. */
  readonly stream?: ReadableStream<Uint8Array> | undefined;
}

export interface Try {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: string | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly isStream: boolean;
}

/**
 * Sends a request once. Throws a ConnectionError, a TimeoutError or the signal's reason. Does not follow
 * redirects, because the key must not be sent to another address.
 */
export async function sendOnce(
  fetch: Fetch,
  request: Try,
  attempts: number,
  wasReached: boolean,
): Promise<Reply> {
  const { method, url, headers, body, timeoutMs, signal, isStream } = request;
  signal?.throwIfAborted();
  const abortController = new AbortController();
  const stop = onAbort(signal, () => abortController.abort(signal?.reason));
  const timer = setTimeout(() => abortController.abort(), Math.min(timeoutMs, maxTimerMs));
  const init = { method, headers, redirect: 'manual', signal: abortController.signal } as const;
  const exchange = async () => {
    const response = await fetch(url, body === undefined ? init : { ...init, body });
    const { status, headers: received } = response;
    if (isStream && status === 200 && /event-stream/i.test(received.get('content-type') ?? ''))
      return { status, headers: received, text: '', stream: response.body ?? undefined };
    return { status, headers: received, text: await response.text() };
  };
  try {
    // A custom `fetch` may ignore its signal.
    return await Promise.race([exchange(), rejectionBy(abortController.signal)]);
  } catch (cause) {
    signal?.throwIfAborted();
    const problem = { message: `${method} ${url} got no response`, attempts };
    if (abortController.signal.aborted) {
      const message = `${problem.message} within ${timeoutMs} ms.`;
      throw new TimeoutError({ ...problem, code: 'timeout', message });
    }
    const hint = wasReached ? '' : ' Check the url: nothing has responded there yet.';
    const message = `${problem.message}: ${describeFailure(cause)}${hint}`;
    throw new ConnectionError({ ...problem, code: 'connection_failed', message, cause });
  } finally {
    clearTimeout(timer);
    stop();
  }
}

function rejectionBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

interface Thrown {
  readonly message?: string;
  readonly code?: unknown;
  readonly cause?: Thrown;
}

/**
 * Returns the reason for a failed `fetch`. In Node.js, the message is only "fetch failed", and `cause` has the reason.
 */
function describeFailure(thrown: unknown): string {
  const { message, cause } = (thrown ?? {}) as Thrown;
  return cause?.message || message || String(thrown);
}

const unsentCodes = /REFUSED|NOTFOUND|EAI_AGAIN|UNREACH|CONNECT_TIMEOUT/;

/**
 * Whether no connection was established, so that nothing was sent. Always false in runtimes that do not report the
 * reason, such as browsers.
 */
export function isUnsent({ cause }: ConnectionError): boolean {
  const { code, cause: inner } = (cause ?? {}) as Thrown;
  return unsentCodes.test(String(inner?.code ?? code));
}
