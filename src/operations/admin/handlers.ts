import type { AdminInputOf, AdminOperationId, AdminOutcomeOf } from '../../contract/admin/operations.ts';
import type { Actor } from '../../domain/actor.ts';
import type { Awaitable } from '../../domain/awaitable.ts';
import type { Role } from '../../domain/role.ts';

import type { Preconditions } from '../preconditions.ts';

/** Who is signed in. */
export interface SignedIn {
  readonly actor: Actor;
  readonly role: Role;
  /** Unix ms; undefined for a token, which stays. */
  readonly expiresAt: number | undefined;
}

/** Who asks, and with which request. */
export interface Asking extends SignedIn {
  readonly preconditions: Preconditions;
  /** As `X-Request-Id` has it. */
  readonly requestId: string;
  /** Aborted when the client is gone. */
  readonly signal: AbortSignal;
}

/**
 * Operations of operators, as functions of the services they need. They may refuse. A change is made with `writeAs`, so that it is
 * recorded.
 */
export type HandlersOf<Services, Ids extends AdminOperationId> = {
  readonly [Id in Ids]: (
    services: Services,
    input: AdminInputOf<Id>,
    asking: Asking,
  ) => Awaitable<AdminOutcomeOf<Id>>;
};
