import { shownBan } from '../shown.ts';
import type { HandlersOf } from './handlers.ts';
import type { OperatorServices } from './services.ts';

/** What the operations on bans do. */
export const banHandlers = {
  listBans: async ({ bans }) => (await bans.list()).map(shownBan),
  liftBan: ({ bans }, { params }) => bans.lift(Number(params.keyId)),
} satisfies HandlersOf<OperatorServices, 'listBans' | 'liftBan'>;
