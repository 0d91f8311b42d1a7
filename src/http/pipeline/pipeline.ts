import { ApiError } from '../../contract/api-error.ts';
import { isRead } from '../../contract/operation.ts';
import { basePath } from '../../contract/operations.ts';
import { type Awaitable, andThen, orElse } from '../../domain/awaitable.ts';
import {
  type Authenticated,
  CallerChanged,
  type Unauthenticated,
} from '../../operations/admission/admission.ts';
import type { OperationRequest, OperationResult } from '../../operations/client-operations.ts';
import { insufficientScopeError } from '../../operations/errors.ts';
import { isNotModified } from './conditions.ts';
import type { IncomingRequest, RequestContext } from './context.ts';
import { isPreflight } from './cors.ts';
import { requestDigest } from './idempotency.ts';
import { type Input, readInput } from './input.ts';
import type { ReadPage } from './page-cache.ts';
import { notModified, type PlainResponse, successResponse, withoutBody } from './plain-response.ts';
import { requestTarget } from './query.ts';
import { countRequest, fallbackReply, reply, replyToPreflight, replyWithError } from './reply.ts';
import { hasMultipleHosts, multipleHostsError, readCredential } from './request-head.ts';
import type { RoutedOperation } from './routes.ts';

/** How often a request is repeated because its key changes in the meantime. A request can wait for events for 30 s. */
const maxRetries = 10;

/** Every request under /v1 passes these checks, in the order of the specification (section 2). */
export function handleRequest(context: RequestContext, incoming: IncomingRequest): Awaitable<Response> {
  const { request, routed } = incoming;
  let admission: Authenticated | Unauthenticated | undefined;
  const attempt = (isRetry = false) => {
    if (isPreflight(request, context.corsOrigins) && !hasMultipleHosts(request))
      return replyToPreflight(context, incoming);
    const isFree = routed?.operation.free ?? false;
    return andThen(
      context.admission.admit(readCredential(request.headers), () => incoming.network(), isFree || isRetry),
      (admitted) => {
        admission = admitted;
        return afterAdmission(context, incoming, admitted, isFree);
      },
    );
  };
  let retries = 0;
  const refused = (error: unknown): Awaitable<Response> => {
    if (!(error instanceof CallerChanged) || ++retries > maxRetries)
      return replyWithError(context, incoming, admission, error);
    // The retry does not count against the limits, because the request has already been counted.
    return orElse(() => attempt(true), refused);
  };
  return orElse(attempt, (error) =>
    orElse(
      () => refused(error),
      (again) => {
        // Omits the rate limit headers, because the limits cannot be read either. If the original error is a 503, it is
        // returned, because its message says whether the request was applied.
        const isUnavailable = error instanceof ApiError && error.code === 'service_unavailable';
        const failure = isUnavailable ? error : again;
        countRequest(context, incoming, failure instanceof ApiError ? failure.code : 'internal_error');
        const response = fallbackReply(context, incoming.requestId, failure);
        if (incoming.countUnmetered()) response.headers.set('Connection', 'close');
        return response;
      },
    ),
  );
}

/**
 * Responds to an admitted request. Refusals that may occur thousands of times per second are returned instead of
 * thrown, because throwing costs about 5 % more.
 */
function afterAdmission(
  context: RequestContext,
  incoming: IncomingRequest,
  admission: Authenticated | Unauthenticated,
  isFree: boolean,
): Awaitable<Response> {
  const { request, route, routed } = incoming;
  if (hasMultipleHosts(request)) throw multipleHostsError();
  if (admission.caller === undefined)
    return replyWithError(context, incoming, admission, new ApiError(admission.errorCode));
  const { errorCode } = admission.verdict;
  if (errorCode !== undefined && !isFree)
    return replyWithError(context, incoming, admission, new ApiError(errorCode));

  if (route === undefined) throw new ApiError('route_not_found');
  if (routed === undefined) throw new ApiError('method_not_allowed');
  if (routed.removedAt !== undefined && context.clock.now() >= routed.removedAt)
    throw new ApiError('operation_removed');
  const { scope } = routed.operation;
  if (scope !== undefined && !admission.caller.scopes.has(scope)) throw insufficientScopeError([scope]);

  const pending = respond(context, incoming, routed, admission);
  if (pending instanceof Promise) incoming.keep();
  return andThen(pending, (response) => {
    const isSafe = request.method === 'GET' || request.method === 'HEAD';
    const isCurrent = isSafe && isNotModified(request.headers, response.etag);
    return reply(context, incoming, admission, isCurrent ? notModified(response) : response);
  });
}

function respond(
  context: RequestContext,
  incoming: IncomingRequest,
  { operation }: RoutedOperation,
  admission: Authenticated,
): Awaitable<PlainResponse> {
  const { pageCache, changedIds } = context;
  const page = { operation, target: requestTarget(incoming.request.url), versions: admission.versions };
  return pageCache.getOrRead(page, changedIds, () => runOperation(context, incoming, operation, admission));
}

function runOperation(
  context: RequestContext,
  incoming: IncomingRequest,
  operation: RoutedOperation['operation'],
  admission: Authenticated,
): Awaitable<ReadPage> {
  if (!isRead(operation)) return runChange(context, incoming, operation, admission);
  const { request, path } = incoming;
  return andThen(readInput(operation, request, path), (read) =>
    andThen(context.operations.perform(operation, toOperationRequest(read, request, admission)), (result) =>
      toResponse(context, operation, read, result),
    ),
  );
}

/**
 * Uses `await`, because changes are always asynchronous, and each step of an `andThen` chain would create two promises.
 */
async function runChange(
  context: RequestContext,
  incoming: IncomingRequest,
  operation: RoutedOperation['operation'],
  admission: Authenticated,
): Promise<ReadPage> {
  const { request, path } = incoming;
  const read = await readInput(operation, request, path);
  let current = admission;
  // The key may be revoked, or lose the scope, before the last byte of the body arrives and the operation can begin.
  const confirm = () =>
    andThen(context.admission.confirm(admission, readCredential(request.headers)), (confirmed) => {
      const { scope } = operation;
      if (confirmed === undefined || (scope !== undefined && !confirmed.caller.scopes.has(scope)))
        throw new CallerChanged();
      current = confirmed;
      return confirmed;
    });
  const operationRequest = { ...toOperationRequest(read, request, admission), confirm };
  const result = await context.operations.perform(operation, operationRequest);
  const { response, span } = toResponse(context, operation, read, result);
  const { readScope } = operation;
  const isReadable = readScope === undefined || current.caller.scopes.has(readScope);
  return { response: isReadable ? response : withoutBody(response), span };
}

function toOperationRequest(
  read: Input,
  { method, url }: Request,
  admission: Authenticated,
): OperationRequest {
  const { input, preconditions, idempotencyKey: key, bytes } = read;
  const { accountId } = admission.caller;
  const once = key === undefined ? undefined : { accountId, key, request: requestDigest(method, url, bytes) };
  return { input, preconditions, once, admission, confirm: () => admission };
}

function toResponse(
  { publicUrl }: RequestContext,
  operation: RoutedOperation['operation'],
  { input }: Input,
  result: OperationResult,
): ReadPage {
  const base = (publicUrl ?? '') + basePath;
  const response = successResponse(operation, input.query, result, { base, params: input.params });
  return { response, span: result.span };
}
