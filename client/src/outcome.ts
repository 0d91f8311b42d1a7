/** What an answer means. */
import type { Reply } from './attempt.js';
import type { ErrorDetail } from './contract.js';
import { errorOf } from './error-of.js';
import { type AnimalStoreError, ConnectionError, ServerError } from './errors.js';
import { parseJson } from './json.js';
import { retryAfterMs } from './limits.js';
import type { Request } from './request.js';

interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly details?: unknown;
}

/**
 * The data of a success; undefined when it has none. Throws AnimalStoreError for anything else. `request` is what to call the
 * request in messages.
 */
export function dataOf(
  { status, headers, text }: Reply,
  { method, id, isList = false }: Request,
  request: string,
  attempts: number,
): unknown {
  const requestId = headers.get('x-request-id') ?? undefined;
  const told = { status, requestId, headers, attempts };
  const isJson = /json/i.test(headers.get('content-type') ?? '');
  // Of a removal, and of a change whose result the key may not see.
  if (status === 204 && method !== 'GET' && id !== undefined) return undefined;
  if (status >= 200 && status < 300 && isJson) {
    try {
      const data = parseJson(text);
      if (typeof data === 'object' && data !== null && Array.isArray(data) === isList) return data;
    } catch (cause) {
      const message = `The answer of ${request} broke off.`;
      throw new ConnectionError({ code: 'connection_failed', message, attempts, requestId, headers, cause });
    }
  }
  if (isJson && status >= 400) {
    const error = errorBodyOf(text);
    if (error) return raise(errorOf({ ...told, ...error }, detailsOf(error), retryAfterSeconds(headers)));
  }
  const code = { 429: 'rate_limit_exceeded', 503: 'service_unavailable' }[status] ?? 'unexpected_response';
  const target = headers.get('location');
  const message = `${request} was answered with ${status}, not by the Animal Store API. Check the url.`;
  const moved = `${request} was redirected${target ? ` to ${target}` : ''}. Redirects are not followed: change the url.`;
  if (status >= 400) throw errorOf({ ...told, code, message }, [], retryAfterSeconds(headers));
  const isMoved = status === 0 || (status >= 300 && status !== 304);
  throw new ServerError({ ...told, code, message: isMoved ? moved : message });
}

function raise(error: AnimalStoreError): never {
  throw error;
}

function errorBodyOf(text: string): ErrorBody | undefined {
  try {
    const body = JSON.parse(text) as Partial<ErrorBody> | null;
    return typeof body?.code === 'string' && typeof body.message === 'string'
      ? (body as ErrorBody)
      : undefined;
  } catch {
    return undefined;
  }
}

/** What answers in the service's place may call something else `details`. */
function detailsOf({ details }: ErrorBody): readonly ErrorDetail[] {
  return Array.isArray(details) ? details : [];
}

function retryAfterSeconds(headers: Headers): number {
  return Math.ceil((retryAfterMs(headers) ?? 0) / 1_000);
}
