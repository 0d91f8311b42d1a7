import type { AdminInputOf, AdminOperationId, ShopOperationId } from '../../contract/admin/operations.ts';
import type { FileContent, Operation } from '../../contract/operation.ts';
import { type Result, resultOf } from '../../contract/result.ts';
import { actorText } from '../../domain/actor.ts';
import { type Awaitable, andThen } from '../../domain/awaitable.ts';
import { OperatorOnce } from '../operator-once.ts';
import type { Preconditions } from '../preconditions.ts';
import { accountHandlers } from './accounts.ts';
import { auditHandlers } from './audit.ts';
import { backupHandlers } from './backups.ts';
import { banHandlers } from './bans.ts';
import type { Asking, HandlersOf } from './handlers.ts';
import { importHandlers } from './imports.ts';
import { keyHandlers } from './keys.ts';
import { operatorHandlers } from './operators.ts';
import { type OperatorServices, type ServingParts, servicesAs } from './services.ts';
import { sessionHandlers } from './sessions.ts';
import { isShopOperation, performInShop } from './shop.ts';
import { systemHandlers } from './system.ts';
import { usageHandlers } from './usage.ts';

/** Those that give or take the cookie of a session: the listener does them with `SessionOperations`. */
type CookieOperationId = 'createSession' | 'deleteSession';

type HandledId = Exclude<AdminOperationId, ShopOperationId | CookieOperationId>;

type Services = OperatorServices & ServingParts;

/** What each operation does that operators have for themselves. The compiler reports a missing one. */
const handlers: HandlersOf<Services, HandledId> = {
  ...backupHandlers,
  ...sessionHandlers,
  ...operatorHandlers,
  ...accountHandlers,
  ...keyHandlers,
  ...banHandlers,
  ...importHandlers,
  ...usageHandlers,
  ...auditHandlers,
  ...systemHandlers,
};

/** A request of an operation, checked. */
export interface AdminRequest {
  readonly input: AdminInputOf<AdminOperationId>;
  readonly preconditions: Preconditions;
  /** What tells it from other requests; undefined unless it has an `Idempotency-Key`. */
  readonly repeatable: { readonly idempotencyKey: string; readonly request: string } | undefined;
}

/** What became of it: a result, or lines that are made while they are sent. */
export type AdminPerformed = (Result & { readonly isReplayed?: boolean }) | Lines | File;

export interface File {
  readonly file: FileContent;
}

export interface Lines {
  /** Each is JSON. */
  readonly lines: AsyncIterable<string>;
}

/** The operations of operators, by their row. */
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
    const once = this.#onceOf(request, asking);
    const services = servicesAs(this.#parts, asking.actor, once);
    return andThen(outcomeOf(services, operation.operationId, request, asking), (outcome) => {
      if (operation.success.file) return { file: outcome as FileContent };
      if (operation.success.lines) return { lines: outcome as AsyncIterable<string> };
      return { ...resultOf(operation, outcome), isReplayed: once?.isReplayed ?? false };
    });
  }

  #onceOf({ repeatable }: AdminRequest, { actor }: Pick<Asking, 'actor'>): OperatorOnce | undefined {
    if (repeatable === undefined) return undefined;
    const { randomBytes } = this.#parts;
    return new OperatorOnce({ ...repeatable, actor: actorText(actor), randomBytes });
  }
}

function outcomeOf(
  services: Services,
  id: AdminOperationId,
  { input, preconditions }: AdminRequest,
  asking: Omit<Asking, 'preconditions'>,
): Awaitable<unknown> {
  if (isShopOperation(id))
    return performInShop(services, id, input as AdminInputOf<ShopOperationId>, preconditions);
  // The input was made by the row, so it is the one its handler takes.
  const handler = handlers[id as HandledId] as Handler;
  return handler(services, input as never, { ...asking, preconditions });
}

type Handler = (services: Services, input: never, asking: Asking) => Awaitable<unknown>;
