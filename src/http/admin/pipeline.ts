import {
  type AdminInput,
  type AdminOperationId,
  adminBasePath,
  requiredRole,
} from '../../contract/admin/operations.ts';
import { ApiError } from '../../contract/api-error.ts';
import { hasEntityTag } from '../../contract/operations.ts';
import { formatActor } from '../../domain/actor.ts';
import { hasRole } from '../../domain/role.ts';
import {
  type AdminRequest,
  isPublicOperation,
  performAdminOperation,
} from '../../operations/admin/admin-operations.ts';
import { minKeyLength } from '../../operations/changes/by-operator.ts';
import type { AroundWait } from '../../operations/events/feed.ts';
import { requestDigest } from '../pipeline/idempotency.ts';
import { type Input, readInput, validationError } from '../pipeline/input.ts';
import { successResponse } from '../pipeline/plain-response.ts';
import { type Authenticated, authenticate, recordFailedSignIn, signIn, signOut } from './authentication.ts';
import type { AdminContext, AdminIncoming, AdminOperation } from './context.ts';
import { downloadResponse, streamLines } from './downloads.ts';
import type { Turn } from './read-limits.ts';
import { type AdminPlainResponse, reply, replyWithError } from './reply.ts';

export async function handleAdminRequest(context: AdminContext, incoming: AdminIncoming): Promise<Response> {
  let signedIn: Authenticated | undefined;
  try {
    const { request, operation } = incoming;
    context.site.checkHost(request);
    const isPublic = operation !== undefined && requiredRole(operation) === undefined;
    signedIn = isPublic ? undefined : await authenticate(context, incoming);
    // Requests with a token need no check: only programs send tokens, whereas browsers may add the cookie to requests
    // from any page.
    if (!isSafe(request) && signedIn?.isByCookie !== false)
      context.site.checkOrigin(request, signedIn !== undefined);
    const routed = expectOperation(incoming);
    checkRole(routed, signedIn);
    incoming.mayTakeLong(signedIn !== undefined);
    const response = await respond(context, incoming, routed, signedIn);
    if (!(response.body instanceof ReadableStream)) incoming.mayTakeLong(false);
    return reply(incoming, response);
  } catch (error) {
    incoming.mayTakeLong(false);
    return replyWithError(context, incoming, error, signedIn !== undefined);
  }
}

/** Whether the method is safe (RFC 9110, section 9.2.1). */
function isSafe({ method }: Request): boolean {
  return method === 'GET' || method === 'HEAD';
}

const unknownPathMessage = 'Unknown path. See /admin/v1/openapi.json for the available operations.';

function expectOperation({ route, operation }: AdminIncoming): AdminOperation {
  if (route === undefined) throw new ApiError('route_not_found', { message: unknownPathMessage });
  if (operation === undefined) throw new ApiError('method_not_allowed');
  return operation;
}

function checkRole(operation: AdminOperation, signedIn: Authenticated | undefined): void {
  const needed = requiredRole(operation);
  if (needed === undefined) return;
  if (signedIn === undefined) throw new ApiError('sign_in_required');
  if (!hasRole(signedIn.role, needed)) throw new ApiError('role_insufficient');
}

async function readAdminInput(context: AdminContext, incoming: AdminIncoming, operation: AdminOperation) {
  const { request, path } = incoming;
  try {
    return await readInput<AdminInput<AdminOperationId>>(operation, request, path);
  } catch (error) {
    if (operation.operationId !== 'createSession' || !(error instanceof ApiError)) throw error;
    // An unreadable sign-in counts as a failed one, because clients could otherwise repeat it without limit.
    throw recordFailedSignIn(context, incoming, 'body', error);
  }
}

async function respond(
  context: AdminContext,
  incoming: AdminIncoming,
  operation: AdminOperation,
  signedIn: Authenticated | undefined,
): Promise<AdminPlainResponse> {
  const { request, requestId } = incoming;
  const { operationId } = operation;
  const read = await readAdminInput(context, incoming, operation);
  const { input, preconditions } = read;
  if (operationId === 'createSession')
    return signIn(context, incoming, operation, input as AdminInput<'createSession'>);
  if (operationId === 'deleteSession') return signOut(context, incoming, operation);
  if (signedIn === undefined) throw new ApiError('sign_in_required');
  const confirm = async () => {
    const current = await authenticate(context, incoming);
    checkRole(operation, current);
    return current;
  };
  const current = operation.body ? await confirm() : signedIn;
  const repeatable = idempotentRequest(read, request);
  const perform = async (turn?: Turn): Promise<AdminPlainResponse> => {
    // The operator may have been revoked in the meantime.
    if (turn?.hasWaited) await confirm();
    const performed = await performAdminOperation(
      context.services,
      operation,
      { input: withConfirmedUpload(input, confirm), preconditions, repeatable },
      {
        ...{ ...current, requestId, signal: request.signal, confirm },
        aroundWait: turn && confirmedWait(turn, confirm),
      },
    );
    if ('file' in performed) return downloadResponse(performed.file);
    if ('lines' in performed) {
      // Waits for the first line, before which an export may read many rows.
      const ended = () => incoming.mayTakeLong(false);
      return streamLines(operation, request, performed.lines, ended);
    }
    // Resources that clients also see have an entity tag for `If-Match`. Other responses have a tag only if the operation
    // declares it, because they may contain a secret.
    const hasTag = isPublicOperation(operationId) && hasEntityTag(operation);
    const { params } = input;
    return successResponse(operation, input.query, performed, { base: adminBasePath, params, hasTag });
  };
  return isSafe(request) ? context.readLimits.run(formatActor(current.actor), request, perform) : perform();
}

/** Checks the operator again after a wait for an event, during which the operator may have been revoked. */
function confirmedWait({ pause }: Turn, confirm: () => Promise<unknown>): AroundWait {
  return async (wait) => {
    const outcome = await pause(wait);
    await confirm();
    return outcome;
  };
}

/**
 * Checks the operator again at the end of an upload. A body may arrive seconds after its head, and a file minutes after, and
 * by then the operator may have been revoked or signed out.
 */
function withConfirmedUpload<Uploading extends object>(
  input: Uploading,
  confirm: () => Promise<unknown>,
): Uploading {
  if (!('upload' in input)) return input;
  const upload = input.upload as AsyncIterable<Uint8Array>;
  const confirmed = async function* () {
    yield* upload;
    await confirm();
  };
  return { ...input, upload: confirmed() };
}

/** Identifies an operator's request and its retries. Throws `invalid_parameter` for a key that could be guessed. */
function idempotentRequest(
  { idempotencyKey, bytes }: Pick<Input, 'idempotencyKey' | 'bytes'>,
  { method, url }: Request,
): AdminRequest['repeatable'] {
  if (idempotencyKey === undefined) return undefined;
  if (idempotencyKey.length < minKeyLength) {
    const message = `must have at least ${minKeyLength} characters, such as a UUID`;
    throw validationError([{ in: 'header', name: 'Idempotency-Key', message }]);
  }
  return { idempotencyKey, request: requestDigest(method, url, bytes) };
}
