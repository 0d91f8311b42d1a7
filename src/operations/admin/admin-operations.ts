import {
  type AdminInputOf,
  type AdminOperationId,
  type adminOperations,
  type ShopOperationId,
  shopOperations,
} from '../../contract/admin/operations.ts';
import { type FileContent, isRead, type Operation, type Result, resultOf } from '../../contract/operation.ts';
import { actorText } from '../../domain/actor.ts';
import { type Awaitable, andThen } from '../../domain/awaitable.ts';
import { writeAs } from '../changes/by-operator.ts';
import { OperatorOnce } from '../changes/operator-once.ts';
import type { Preconditions } from '../changes/preconditions.ts';
import { importHandlers } from '../imports/handlers.ts';
import type { ReadStore } from '../resources/rows.ts';
import { sharedReaders, type sharedUnits } from '../resources/shared.ts';
import { sessionHandlers } from '../sign-in/sessions.ts';
import { accountHandlers } from './accounts.ts';
import { auditHandlers } from './audit.ts';
import { backupHandlers } from './backups.ts';
import { banHandlers } from './bans.ts';
import { eventHandlers } from './events.ts';
import type { Asking, HandlersOf } from './handlers.ts';
import { keyHandlers } from './keys.ts';
import { operatorHandlers } from './operators.ts';
import { type OperatorServices, type ServingParts, servicesAs } from './services.ts';
import { systemHandlers } from './system.ts';
import { usageHandlers } from './usage.ts';
import { webhookHandlers } from './webhooks.ts';

/** Those that give or take the cookie of a session: the listener does them with `SessionOperations`. */
type CookieOperationId = 'createSession' | 'deleteSession';

type HandledRows = Omit<typeof adminOperations, ShopOperationId | CookieOperationId>;

type Services = OperatorServices & ServingParts;

/** Those that need the store alone, so that the command line can perform them. */
const storeHandlers = {
  ...operatorHandlers,
  ...accountHandlers,
  ...keyHandlers,
  ...banHandlers,
  ...usageHandlers,
  ...auditHandlers,
  ...webhookHandlers,
};

export type StoreOperationId = ShopOperationId | keyof typeof storeHandlers;

const handlers: HandlersOf<Services, HandledRows> = {
  ...storeHandlers,
  ...backupHandlers,
  ...sessionHandlers,
  ...importHandlers,
  ...systemHandlers,
  ...eventHandlers,
};

export interface AdminRequest {
  readonly input: AdminInputOf<AdminOperationId>;
  readonly preconditions: Preconditions;
  /** Identifies it among its repetitions; undefined without an `Idempotency-Key`. */
  readonly repeatable: { readonly idempotencyKey: string; readonly request: string } | undefined;
}

type AdminPerformed = (Result & { readonly isReplayed?: boolean }) | Lines | File;

export interface File {
  readonly file: FileContent;
}

export interface Lines {
  readonly lines: AsyncIterable<string>;
}

export class AdminOperations {
  readonly #parts: ServingParts;

  constructor(parts: ServingParts) {
    this.#parts = parts;
  }

  /** What it changes is durable and recorded when this resolves. Refuses what the operation does, and `service_unavailable`. */
  perform(
    operation: Operation & { readonly operationId: AdminOperationId },
    request: AdminRequest,
    asking: Omit<Asking, 'preconditions'>,
  ): Awaitable<AdminPerformed> {
    const { repeatable } = request;
    const { randomBytes } = this.#parts;
    const once =
      repeatable && new OperatorOnce({ ...repeatable, actor: actorText(asking.actor), randomBytes });
    const services = servicesAs(this.#parts, asking.actor, once);
    return andThen(outcomeOf(services, operation.operationId, request, asking), (outcome) => {
      if (operation.success.file) return { file: outcome as FileContent };
      if (operation.success.lines) return { lines: outcome as AsyncIterable<string> };
      return { ...resultOf(operation, outcome), isReplayed: once?.isReplayed ?? false };
    });
  }
}

function outcomeOf(
  services: Services,
  id: AdminOperationId,
  { input, preconditions }: AdminRequest,
  asking: Omit<Asking, 'preconditions'>,
): Awaitable<unknown> {
  if (isShopOperation(id))
    return performShared(services, id, input as AdminInputOf<ShopOperationId>, preconditions);
  // The input was made by the row, so it is the one its handler takes.
  const handler = handlers[id as keyof HandledRows] as Handler;
  return handler(services, input as never, { ...asking, preconditions });
}

export function performOnStore(
  services: OperatorServices,
  id: StoreOperationId,
  input: AdminInputOf<StoreOperationId>,
): Awaitable<unknown> {
  if (isShopOperation(id)) return performShared(services, id, input as AdminInputOf<ShopOperationId>, {});
  const handler = storeHandlers[id as keyof typeof storeHandlers] as StoreHandler;
  return handler(services, input as never, { preconditions: {} });
}

type StoreHandler = (
  services: OperatorServices,
  input: never,
  asking: Pick<Asking, 'preconditions'>,
) => Awaitable<unknown>;
type Handler = (services: Services, input: never, asking: Asking) => Awaitable<unknown>;

export function isShopOperation(id: string): id is ShopOperationId {
  return Object.hasOwn(shopOperations, id);
}

/** What clients do to the resources of the store, done by an operator: the same readers and units of work. */
function performShared(
  services: OperatorServices,
  id: ShopOperationId,
  { params, query, body }: AdminInputOf<ShopOperationId>,
  preconditions: Preconditions,
): Awaitable<unknown> {
  if (isRead(shopOperations[id])) {
    const read = sharedReaders[id as keyof typeof sharedReaders] as Reader;
    return read(services.store, { params, query, body } as never);
  }
  const unit = { params, body, preconditions, now: services.clock.now() };
  return writeAs(services, id as keyof typeof sharedUnits, unit as never);
}

type Reader = (store: ReadStore, input: never) => Awaitable<unknown>;
