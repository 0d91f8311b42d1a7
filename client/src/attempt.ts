import { onAbort } from './abort.js';
import type { Fetch } from './animal-store.js';
import { longestTimerMs } from './clock.js';
import { ConnectionError, TimeoutError } from './errors.js';

/** An answer that was read to its end. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** What is sent. */
export interface Try {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: string | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Sends a request once. Throws ConnectionError, TimeoutError, or the signal's reason. Redirects are not followed: the key is
 * for this address only.
 */
export async function attemptOf(fetch: Fetch, request: Try, attempts: number): Promise<Reply> {
  const { method, url, headers, body, timeoutMs, signal } = request;
  signal?.throwIfAborted();
  const ending = new AbortController();
  const stop = onAbort(signal, () => ending.abort(signal?.reason));
  const timer = setTimeout(() => ending.abort(), Math.min(timeoutMs, longestTimerMs));
  try {
    const init = { method, headers, redirect: 'manual', signal: ending.signal } as const;
    const response = await fetch(url, body === undefined ? init : { ...init, body });
    return { status: response.status, headers: response.headers, text: await response.text() };
  } catch (cause) {
    signal?.throwIfAborted();
    const problem = { message: `${method} ${url} was not answered`, attempts };
    if (ending.signal.aborted) {
      throw new TimeoutError({
        ...problem,
        code: 'timeout',
        message: `${problem.message} within ${timeoutMs} ms.`,
      });
    }
    throw new ConnectionError({
      ...problem,
      code: 'connection_failed',
      message: `${problem.message}: ${reasonOf(cause)}`,
      cause,
    });
  } finally {
    clearTimeout(timer);
    stop();
  }
}

/** Node's fetch says "fetch failed", and its cause why. */
function reasonOf(thrown: unknown): string {
  const { message, cause } = thrown as {
    readonly message?: string;
    readonly cause?: { readonly message?: string };
  };
  return cause?.message || message || String(thrown);
}
