import { ApiError } from '../../contract/api-error.ts';
import { errors } from '../../contract/errors.ts';
import type { PlainResponse } from '../pipeline/plain-response.ts';
import { acceptHeaders, errorBody, unavailableRetrySeconds } from '../pipeline/reply.ts';
import { type HeaderFields, setMethodHeaders } from '../pipeline/response-headers.ts';
import type { AdminContext, AdminIncoming } from './context.ts';
import { TooManyReadsError } from './read-limits.ts';

export type AdminPlainResponse = Omit<PlainResponse, 'body'> & {
  readonly body: string | Blob | ReadableStream<Uint8Array> | null;
};

const challenge = 'Bearer realm="animal-store-admin"';

export function reply(
  { request: { method }, requestId }: Pick<AdminIncoming, 'request' | 'requestId'>,
  { status, body, headers: own }: AdminPlainResponse,
): Response {
  const headers = new Headers({ ...adminHeaders, 'X-Request-Id': requestId });
  if (body !== null) headers.set('Content-Type', 'application/json');
  for (const [name, value] of Object.entries(own)) headers.set(name, value);
  setMethodHeaders({ headers }, method);
  return new Response(body, { status, headers });
}

/**
 * The response to a request that failed for any reason. The reason is sent only if the error is an `ApiError`; other
 * errors are logged. The cause of a store failure is shown only to operators who are signed in, because error messages
 * of a database server may contain addresses.
 */
export function replyWithError(
  context: AdminContext,
  incoming: AdminIncoming,
  error: unknown,
  isSignedIn = false,
): Response {
  const apiError = error instanceof ApiError ? error : new ApiError('internal_error', { cause: error });
  const { status } = errors[apiError.code];
  if (status >= 500) logFailure(context, incoming, apiError);
  return reply(incoming, {
    status,
    body: errorBody(addTroubles(context, apiError, isSignedIn)),
    headers: errorHeaders(context, incoming, apiError),
  });
}

function addTroubles({ troubles }: AdminContext, apiError: ApiError, isSignedIn: boolean): ApiError {
  const { code, message = errors[code].message, cause } = apiError;
  if (code !== 'service_unavailable') return apiError;
  const reasons = isSignedIn && cause instanceof Error ? [`Cause: ${cause.message}.`] : troubles();
  return new ApiError(code, { message: [message, ...reasons].join(' ') });
}

export function fallbackReply({ log, newRequestId }: AdminContext, error: unknown): Response {
  const requestId = newRequestId();
  log.error({ requestId, err: error }, 'request failed');
  const apiError = new ApiError('internal_error');
  const headers = { ...adminHeaders, 'Content-Type': 'application/json', 'X-Request-Id': requestId };
  return new Response(errorBody(apiError), { status: errors[apiError.code].status, headers });
}

function errorHeaders(
  { failedSignIns }: AdminContext,
  { route, operation, network }: AdminIncoming,
  { code, details }: ApiError,
): HeaderFields {
  switch (errors[code].status) {
    case 401:
      return {
        'WWW-Authenticate': code === 'sign_in_required' ? challenge : `${challenge}, error="invalid_token"`,
      };
    case 405:
      return { Allow: route?.allow ?? 'GET, HEAD' };
    case 415:
      return acceptHeaders(details, operation);
    case 429:
      return { 'Retry-After': String(Math.max(1, failedSignIns.waitSeconds(network))) };
    case 503:
      return { 'Retry-After': String(unavailableRetrySeconds) };
    default:
      return {};
  }
}

/** Logs the route instead of the URL, because clients sometimes put secrets in the URL. */
function logFailure(
  { log, outages }: AdminContext,
  { request: { method, signal }, requestId, route }: AdminIncoming,
  { code, cause }: ApiError,
): void {
  const fields = { requestId, method, route: route?.path, code, err: cause };
  if (cause instanceof TooManyReadsError) log.debug(fields, 'request refused');
  else if (code === 'service_unavailable') outages.refused(fields);
  // An upload that the client aborts is not a service error.
  else if (signal.aborted && cause instanceof DOMException && cause.name === 'AbortError')
    log.debug(fields, 'client closed the connection');
  else log.error(fields, 'request failed');
}

/** The console loads scripts and styles only from this listener, and has no inline scripts or styles. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const adminHeaders = {
  'Content-Security-Policy': contentSecurityPolicy,
  'X-Frame-Options': 'DENY',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
} as const satisfies HeaderFields;
