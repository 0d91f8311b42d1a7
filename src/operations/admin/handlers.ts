import type { OperationInput, OperationOutcome, OperationUpload } from '../../contract/operation.ts';
import type { Actor } from '../../domain/actor.ts';
import type { Awaitable } from '../../domain/awaitable.ts';
import type { Role } from '../../domain/role.ts';
import type { Preconditions } from '../changes/preconditions.ts';
import type { AroundWait } from '../events/feed.ts';

export interface SignedIn {
  readonly actor: Actor;
  readonly role: Role;
  /** Unix ms; undefined for a token, which does not expire. */
  readonly expiresAt: number | undefined;
  /** Fingerprint of the session; undefined for a token. */
  readonly sessionFingerprint?: string | undefined;
}

export interface HandlerContext extends SignedIn {
  readonly preconditions: Preconditions;
  readonly requestId: string;
  readonly signal: AbortSignal;
  /** Checks the operator again. Throws `sign_in_required`, `sign_in_failed` or `role_insufficient`. */
  readonly confirm: () => Promise<unknown>;
  /** Undefined for operations that are not limited. */
  readonly aroundWait?: AroundWait | undefined;
}

/** Handlers for operator requests. They may throw an `ApiError`, and use `writeAs` to make and record changes. */
export type HandlersOf<Services, Rows, Context = HandlerContext> = {
  readonly [Id in keyof Rows]: (
    services: Services,
    input: OperationInput<Rows[Id]> & OperationUpload<Rows[Id]>,
    context: Context,
  ) => Awaitable<OperationOutcome<Rows[Id]>>;
};

/** The context of a command. The services identify the user who runs the command. */
export type StoreContext = Pick<HandlerContext, 'preconditions'>;

/** Handlers that need only the store, so that the command line can run them. */
export type StoreHandlersOf<Services, Rows> = HandlersOf<Services, Rows, StoreContext>;
