import { noContent, type Operation, shown } from '../operation.ts';
import { Bans } from './bans.ts';
import { KeyId } from './keys.ts';

export const banOperations = {
  listBans: {
    operationId: 'listBans',
    method: 'GET',
    path: '/bans',
    tag: 'Bans',
    summary: 'List bans',
    description: 'Returns the keys that are banned because they kept sending requests after 429.',
    stability: 'beta',
    reads: [],
    success: shown(Bans, 'All bans that last.'),
    errors: [],
  },
  liftBan: {
    operationId: 'liftBan',
    method: 'DELETE',
    path: '/bans/{keyId}',
    tag: 'Bans',
    summary: 'Lift a ban',
    description: "Ends a ban, and forgets the key's strikes and level.",
    stability: 'beta',
    params: { keyId: { schema: KeyId, otherwise: 'ban_not_found' } },
    reads: [],
    success: noContent('The ban was lifted.'),
    errors: ['ban_not_found'],
  },
} as const satisfies Readonly<Record<string, Operation>>;
