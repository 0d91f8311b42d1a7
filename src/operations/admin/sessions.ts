import type { Session } from '../../contract/admin/sessions.ts';
import { actorText } from '../../domain/actor.ts';
import type { HandlersOf, SignedIn } from './handlers.ts';
import type { OperatorServices } from './services.ts';

/** Who is signed in, as it is answered. */
export function sessionShown({ actor, role, expiresAt }: SignedIn): Session {
  return {
    operator: actorText(actor),
    role,
    expiresAt: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
  };
}

export const sessionHandlers = {
  getSession: (_services, _input, asking) => sessionShown(asking),
} satisfies HandlersOf<OperatorServices, 'getSession'>;
