import type { Logger } from 'pino';
import { ApiError } from '../../contract/api-error.ts';
import { type ErrorCode, errors } from '../../contract/errors.ts';
import type { Operation } from '../../contract/operation.ts';
import { type Awaitable, andThen } from '../../domain/awaitable.ts';
import type { Authenticated, Unauthenticated } from '../../operations/admission/admission.ts';
import { errorPath } from '../public/guides.ts';
import type { IncomingRequest, RequestContext } from './context.ts';
import { corsHeaders, preflightHeaders } from './cors.ts';
import type { PlainResponse } from './plain-response.ts';
import {
  errorPageHeaders,
  type HeaderFields,
  responseHeaders,
  setMethodHeaders,
  setRateLimitHeaders,
} from './response-headers.ts';

const challenge = 'Bearer realm="animal-store"';

/** `Retry-After` of a 503, in seconds. */
export const unavailableRetrySeconds = 5;
/** `Retry-After` while the account has too many streams, in seconds. */
const streamRetrySeconds = 10;

/** A response with the headers that every response under /v1 has. */
export function reply(
  context: RequestContext,
  incoming: IncomingRequest,
  admission: Authenticated | Unauthenticated,
  { status, body, stream, headers: own }: PlainResponse,
  code?: ErrorCode,
): Response {
  const {
    request: { method, headers: sent },
    requestId,
    routed,
  } = incoming;
  const headers = responseHeaders(
    { status, isEmpty: body === null },
    requestId,
    admission,
    own,
    routed?.headers,
  );
  const response = new Response(stream === undefined ? body : incoming.streamed(stream), { status, headers });
  const cors = context.corsOrigins.size > 0 ? corsHeaders(sent, context.corsOrigins) : {};
  for (const [name, value] of Object.entries(cors)) response.headers.set(name, value);
  const isUnmetered =
    admission.caller === undefined || admission.verdict.errorCode !== undefined || routed?.operation.free;
  if (context.isDraining() || (isUnmetered && incoming.countUnmetered()))
    response.headers.set('Connection', 'close');
  setMethodHeaders(response, method);
  countRequest(context, incoming, code, admission.caller);
  const logged = method === 'HEAD' ? null : stream === undefined ? body : undefined;
  context.requestLog?.(incoming, { status, code, admission, body: logged });
  return response;
}

export function countRequest(
  { traffic, failedRequests }: RequestContext,
  { routed, startedAt, requestId }: IncomingRequest,
  code?: ErrorCode,
  caller?: Authenticated['caller'],
): void {
  const operationId = routed?.operation.operationId;
  traffic.count(operationId, code, caller, startedAt);
  if (code !== undefined) failedRequests.add(code, requestId, operationId, caller);
}

/**
 * The response to a request that failed for any reason. The reason is sent only if the error is an `ApiError`; other
 * errors are logged.
 */
export function replyWithError(
  context: RequestContext,
  incoming: IncomingRequest,
  admission: Authenticated | Unauthenticated | undefined,
  error: unknown,
): Awaitable<Response> {
  const apiError = error instanceof ApiError ? error : new ApiError('internal_error', { cause: error });
  const { status } = errors[apiError.code];
  if (status >= 500) logFailure(context, incoming, apiError, status);
  if (admission?.caller !== undefined && admission.verdict.isNewBan) logBan(context.log, admission);
  const isCharged = !(incoming.routed?.operation.free ?? false);
  const afterRefund = status === 503 && isCharged ? refundUnavailable(context, admission) : admission;
  const result = andThen(
    afterRefund,
    (known) => known ?? toUnauthenticated(context, incoming, apiError.code),
  );
  return andThen(result, (known) => {
    const headers = errorHeaders(apiError, known, incoming);
    headers.Link = helpLink(context, apiError.code, incoming.routed?.headers?.Link);
    return reply(context, incoming, known, { status, body: errorBody(apiError), headers }, apiError.code);
  });
}

/**
 * The response to a request that failed, if the regular error response fails as well. It has no rate limit headers,
 * because the limits are unknown.
 */
export function fallbackReply({ log }: RequestContext, requestId: string, error: unknown): Response {
  const isUnavailable = error instanceof ApiError && error.code === 'service_unavailable';
  const apiError = isUnavailable ? error : new ApiError('internal_error');
  if (isUnavailable) log.debug({ requestId, err: error.cause }, 'limits of a refused request are unknown');
  else log.error({ requestId, err: error }, 'request failed');
  const headers = {
    ...errorPageHeaders,
    'X-Request-Id': requestId,
    ...(isUnavailable && { 'Retry-After': String(unavailableRetrySeconds) }),
  };
  return new Response(errorBody(apiError), { status: errors[apiError.code].status, headers });
}

/** The response to a preflight (Fetch standard, section 3.3.2). Preflights do not count against the limit. */
export async function replyToPreflight(
  context: RequestContext,
  incoming: IncomingRequest,
): Promise<Response> {
  const state = await context.admission.peek(incoming.network());
  const headers = new Headers({
    'X-Request-Id': incoming.requestId,
    ...corsHeaders(incoming.request.headers, context.corsOrigins),
    ...preflightHeaders,
  });
  setRateLimitHeaders(headers, state);
  if (incoming.countUnmetered()) headers.set('Connection', 'close');
  countRequest(context, incoming);
  context.requestLog?.(incoming, { status: 204, body: null });
  return new Response(null, { status: 204, headers });
}

/** The Error body (specification, section 2). */
export function errorBody({ code, message, details }: ApiError): string {
  if (message === undefined && details.length === 0) return standardBodies[code];
  const body = { ...standardBody(code), ...(message !== undefined && { message }) };
  return JSON.stringify(details.length > 0 ? { ...body, details } : body);
}

function standardBody(code: ErrorCode) {
  const { status, message } = errors[code];
  return { code, message, status };
}

const standardBodies = Object.fromEntries(
  Object.keys(errors).map((code) => [code, JSON.stringify(standardBody(code as ErrorCode))]),
) as Record<ErrorCode, string>;

/** The operation's links, followed by a link to the documentation of the error (RFC 8288, with the relation "help"). */
function helpLink({ publicUrl }: RequestContext, code: ErrorCode, others: string | undefined): string {
  const help = `<${publicUrl ?? ''}${errorPath(code)}>; rel="help"; type="text/html"`;
  return others === undefined ? help : `${others}, ${help}`;
}

function errorHeaders(
  { code, details, scope }: ApiError,
  admission: Authenticated | Unauthenticated,
  { route, routed }: IncomingRequest,
): HeaderFields {
  switch (errors[code].status) {
    case 401:
      return {
        'WWW-Authenticate': code === 'missing_api_key' ? challenge : `${challenge}, error="invalid_token"`,
      };
    case 403:
      return {
        'WWW-Authenticate': `${challenge}, error="insufficient_scope", scope="${scope}"`,
      };
    case 405:
      return { Allow: route?.allow ?? '' };
    case 409:
      return code === 'idempotency_key_in_use' ? { 'Retry-After': '1' } : {};
    case 415:
      return acceptHeaders(details, routed?.operation);
    case 429:
      return { 'Retry-After': String(retryAfterSeconds(code, admission)) };
    case 503:
      return { 'Retry-After': String(unavailableRetrySeconds) };
    default:
      return {};
  }
}

export function acceptHeaders(details: ApiError['details'], operation: Operation | undefined): HeaderFields {
  return {
    // Sent only for an unsupported Content-Encoding, to distinguish this error from a wrong media type (RFC 9110,
    // section 12.5.3).
    ...(details.some(({ name }) => name === 'Content-Encoding') && { 'Accept-Encoding': 'identity' }),
    // RFC 5789, section 2.2.
    ...(operation?.method === 'PATCH' && { 'Accept-Patch': operation.body?.types?.join(', ') ?? '' }),
  };
}

function retryAfterSeconds(code: ErrorCode, admission: Authenticated | Unauthenticated): number {
  if (code === 'too_many_streams') return streamRetrySeconds;
  return admission.caller === undefined ? admission.state.secondsLeft : admission.verdict.retryAfterSeconds;
}

/** A 503 does not count against the limit: the request is refunded if the store is reachable. */
function refundUnavailable(
  context: RequestContext,
  admission: Authenticated | Unauthenticated | undefined,
): Awaitable<Authenticated | Unauthenticated | undefined> {
  if (admission?.caller === undefined || admission.verdict.errorCode !== undefined) return admission;
  return andThen(context.admission.refund(admission), (verdict) => ({ ...admission, verdict }));
}

function toUnauthenticated(
  context: RequestContext,
  incoming: IncomingRequest,
  errorCode: ErrorCode,
): Awaitable<Unauthenticated> {
  return andThen(context.admission.peek(incoming.network()), (state) => ({
    caller: undefined,
    errorCode,
    state,
  }));
}

/** Logs the route instead of the URL, because clients sometimes put keys in the URL. */
function logFailure(
  context: RequestContext,
  { request: { method }, requestId, route }: IncomingRequest,
  { code, cause }: ApiError,
  status: number,
): void {
  const fields = { requestId, method, route: route?.path, code, err: cause };
  if (status === 503) context.outages.refused(fields);
  else context.log.error(fields, 'request failed');
}

/** Logs the ban that a request caused. Other workers and instances only reject requests during the ban. */
function logBan(log: Logger, { caller: { keyId, accountId }, verdict: { resetAt } }: Authenticated): void {
  const until = new Date(resetAt * 1_000).toISOString();
  log.info({ key: keyId, account: accountId, until }, 'API key banned');
}
