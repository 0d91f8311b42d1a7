import * as z from 'zod';
import { noContent, okJson, rowsOf } from '../operation.ts';
import { count, instant, shape } from '../values.ts';
import { KeyId } from './keys.ts';
import { id } from './values.ts';

export const Ban = shape('Ban', 'A temporary ban of a key.', {
  keyId: id('ID of the banned key.'),
  keyName: z.string().meta({ description: 'Name of the key.' }),
  keyLastFour: z.string().meta({ description: 'The last four characters of the key.' }),
  accountId: id('ID of its account.'),
  accountName: z.string().meta({ description: 'Name of the account.' }),
  bannedUntil: instant('When the ban ends, UTC.'),
  level: count.meta({
    description: 'Consecutive bans before this one; each lasts twice as long as the one before.',
  }),
  reason: z.string().meta({ description: 'Why the key is banned.' }),
});

export const Bans = z.array(Ban).meta({ id: 'Bans', description: 'All bans that last.' });

export type Ban = z.infer<typeof Ban>;

export const banOperations = rowsOf(
  { tag: { name: 'Bans', description: 'Keys that are banned for a while.' } },
  {
    listBans: {
      method: 'GET',
      path: '/bans',
      summary: 'List bans',
      description: 'Returns the keys that are banned because they kept sending requests after 429.',
      success: okJson(Bans, 'All bans that last.'),
    },
    liftBan: {
      method: 'DELETE',
      path: '/bans/{keyId}',
      summary: 'Lift a ban',
      description: "Ends a ban, and forgets the key's strikes and level.",
      params: { keyId: { schema: KeyId, otherwise: 'ban_not_found' } },
      success: noContent('The ban was lifted.'),
    },
  },
);
