import {
  type AdminInput,
  type AdminOperationId,
  type adminOperations,
  type PublicOperationId,
  publicOperations,
} from '../../contract/admin/operations.ts';
import { type FileContent, isRead, type Operation, type Result, toResult } from '../../contract/operation.ts';
import { formatActor } from '../../domain/actor.ts';
import { type Awaitable, andThen, orElse } from '../../domain/awaitable.ts';
import { OperatorIdempotency, writeAs } from '../changes/by-operator.ts';
import type { Preconditions } from '../changes/preconditions.ts';
import { addIdToMessage } from '../errors.ts';
import { importHandlers } from '../imports/handlers.ts';
import type { ReadStore } from '../resources/rows.ts';
import { sharedReaders, type sharedUnits } from '../resources/shared.ts';
import { sessionHandlers } from '../sign-in/sessions.ts';
import { accountHandlers } from './accounts.ts';
import { auditHandlers } from './audit.ts';
import { backupHandlers } from './backups.ts';
import { banHandlers } from './bans.ts';
import { categoryUseHandlers } from './categories.ts';
import { eventHandlers } from './events.ts';
import type { HandlerContext, HandlersOf, StoreContext } from './handlers.ts';
import { keyHandlers } from './keys.ts';
import { operatorReaders, totalsHandlers } from './lists.ts';
import { operatorHandlers } from './operators.ts';
import { searchHandlers } from './search.ts';
import { type OperatorServices, type ServingDependencies, servicesFor } from './services.ts';
import { systemHandlers } from './system.ts';
import { failedRequestHandlers, usageHandlers } from './usage.ts';
import { webhookHandlers } from './webhooks.ts';

/** Operations that set or delete the session cookie. The listener runs them with `SessionOperations`. */
type CookieOperationId = 'createSession' | 'deleteSession';

type HandledRows = Omit<typeof adminOperations, PublicOperationId | CookieOperationId>;

type Services = OperatorServices & ServingDependencies;

/** Operations that need only the store, so that the command line can run them. */
const storeHandlers = {
  ...operatorHandlers,
  ...accountHandlers,
  ...keyHandlers,
  ...banHandlers,
  ...usageHandlers,
  ...auditHandlers,
  ...webhookHandlers,
  ...searchHandlers,
  ...totalsHandlers,
  ...categoryUseHandlers,
} satisfies Readonly<Record<string, StoreHandler>>;

export type StoreOperationId = PublicOperationId | keyof typeof storeHandlers;

const handlers: HandlersOf<Services, HandledRows> = {
  ...storeHandlers,
  ...failedRequestHandlers,
  ...backupHandlers,
  ...sessionHandlers,
  ...importHandlers,
  ...systemHandlers,
  ...eventHandlers,
};

export interface AdminRequest {
  readonly input: AdminInput<AdminOperationId>;
  readonly preconditions: Preconditions;
  /** Identifies the request and its retries; undefined without an `Idempotency-Key`. */
  readonly repeatable: { readonly idempotencyKey: string; readonly request: string } | undefined;
}

type AdminResult =
  | (Result & { readonly isReplayed?: boolean })
  | { readonly lines: AsyncIterable<string> }
  | { readonly file: FileContent };

/**
 * Runs an operation. When the result resolves, the change is durable and recorded in the audit log. Throws the
 * operation's errors and `service_unavailable`.
 */
export function performAdminOperation(
  dependencies: ServingDependencies,
  operation: Operation & { readonly operationId: AdminOperationId },
  request: AdminRequest,
  context: Omit<HandlerContext, 'preconditions'>,
): Awaitable<AdminResult> {
  const { repeatable } = request;
  const { randomBytes } = dependencies;
  const once =
    repeatable && new OperatorIdempotency({ ...repeatable, actor: formatActor(context.actor), randomBytes });
  const services = servicesFor(dependencies, context.actor, once);
  return andThen(runHandler(services, operation.operationId, request, context), (outcome) => {
    if (operation.success.file) return { file: outcome as FileContent };
    if (operation.success.lines) return { lines: outcome as AsyncIterable<string> };
    return { ...toResult(operation, outcome), isReplayed: once?.isReplayed ?? false };
  });
}

function runHandler(
  services: Services,
  id: AdminOperationId,
  { input, preconditions }: AdminRequest,
  context: Omit<HandlerContext, 'preconditions'>,
): Awaitable<unknown> {
  if (isPublicOperation(id))
    return runPublicOperation(services, id, input as AdminInput<PublicOperationId>, preconditions);
  // The input was parsed according to the operation's definition, so it has the type that the handler expects.
  const handler = handlers[id as keyof HandledRows] as Handler;
  return handler(services, input as never, { ...context, preconditions });
}

export function performOnStore(
  services: OperatorServices,
  id: StoreOperationId,
  input: AdminInput<StoreOperationId>,
): Awaitable<unknown> {
  if (isPublicOperation(id))
    return runPublicOperation(services, id, input as AdminInput<PublicOperationId>, {});
  const handler = storeHandlers[id as keyof typeof storeHandlers] as StoreHandler;
  return handler(services, input as never, { preconditions: {} });
}

type StoreHandler = (services: OperatorServices, input: never, context: StoreContext) => Awaitable<unknown>;
type Handler = (services: Services, input: never, context: HandlerContext) => Awaitable<unknown>;

export function isPublicOperation(id: string): id is PublicOperationId {
  return Object.hasOwn(publicOperations, id);
}

/** Like `performPublicOperation`, but errors about missing objects contain the id, as in all operations for operators. */
function runPublicOperation(...args: Parameters<typeof performPublicOperation>): Awaitable<unknown> {
  return orElse(
    () => performPublicOperation(...args),
    (error) => {
      throw addIdToMessage(error, args[2].params);
    },
  );
}

/** Runs client operations on behalf of an operator, with the same readers and units of work. */
function performPublicOperation(
  services: OperatorServices,
  id: PublicOperationId,
  { params, query, body }: AdminInput<PublicOperationId>,
  preconditions: Preconditions,
): Awaitable<unknown> {
  if (isRead(publicOperations[id])) {
    const read = readers[id as keyof typeof readers] as Reader;
    return read(services.store, { params, query, body } as never);
  }
  const unit = { params, body, preconditions, now: services.clock.now() };
  return writeAs(services, id as keyof typeof sharedUnits, unit as never);
}

const readers = { ...sharedReaders, ...operatorReaders };

type Reader = (store: ReadStore, input: never) => Awaitable<unknown>;
