import * as z from 'zod';
import { count, instant } from '../values.ts';
import { id } from './values.ts';

export const Ban = z
  .object({
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
  })
  .meta({ id: 'Ban', description: 'A temporary ban of a key.' });

export const Bans = z.array(Ban).meta({ id: 'Bans', description: 'All bans that last.' });

export type Ban = z.infer<typeof Ban>;
