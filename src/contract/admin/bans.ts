import * as z from 'zod';
import { defineOperations, noContent, okJson } from '../operation.ts';
import { count, instant, objectSchema } from '../values.ts';
import { KeyId } from './keys.ts';
import { id } from './values.ts';

export const Ban = objectSchema('Ban', 'A temporary ban on a key.', {
  keyId: id('ID of the banned key.'),
  keyName: z.string().describe('Name of the key.'),
  keyLastFour: z.string().describe('The last four characters of the key.'),
  accountId: id('ID of the account.'),
  accountName: z.string().describe('Name of the account.'),
  bannedFrom: instant('Time when the ban began (UTC).'),
  bannedUntil: instant('Time when the ban ends (UTC).'),
  level: count.describe(
    'Number of consecutive bans before this ban. Each ban lasts twice as long as the previous one.',
  ),
  reason: z.string().describe('Reason for the ban.'),
});

const Bans = z.array(Ban).meta({ id: 'Bans', description: 'All active bans.' });

export type Ban = z.infer<typeof Ban>;

export const banOperations = defineOperations(
  { tag: { name: 'Bans', description: 'Temporary bans on keys.' } },
  {
    listBans: {
      route: 'GET /bans',
      summary: 'List bans',
      description:
        'Returns the keys that are banned because they kept sending requests after a 429 response.',
      success: okJson(Bans, 'All active bans.'),
    },
    liftBan: {
      route: 'DELETE /bans/{keyId}',
      summary: 'Lift a ban',
      description: "Ends a ban and clears the key's strikes and level.",
      params: { keyId: { schema: KeyId, otherwise: 'ban_not_found' } },
      success: noContent('The ban was lifted.'),
    },
  },
);
