import * as z from 'zod';
import {
  bodyError,
  count,
  instant,
  limitParameter,
  namedCursorParameter,
  oneOf,
  pageLimit,
} from '../values.ts';
import { id, idParameter, nameOf, PlanName, quotaMember } from './values.ts';

export const accountStates = ['open', 'closed'] as const;

const AccountState = z.enum(accountStates, { error: oneOf(accountStates) });

export const Account = z
  .object({
    id: id('ID of the account.'),
    name: z.string().meta({ description: 'Name of the account.' }),
    plan: PlanName,
    perMinute: count.meta({ description: 'Requests that the plan allows per minute.' }),
    perDay: count.meta({ description: 'Requests that the plan allows per day.' }),
    createdAt: instant('When the account was created, UTC.'),
    closedAt: instant('When it was closed, UTC; null while it is open.').nullable(),
  })
  .meta({ id: 'Account', description: 'An account: who is counted, and by which plan.' });

export const Accounts = z
  .array(Account)
  .max(pageLimit.max)
  .meta({ id: 'Accounts', description: 'A page of accounts.' });

export const ListAccountsQuery = z.strictObject({
  limit: limitParameter('accounts'),
  name: z.string().min(1, 'must not be empty').max(255, 'must have at most 255 characters').optional().meta({
    description: 'Return only accounts whose name begins with this, in upper or lower case, by name.',
  }),
  state: AccountState.optional().meta({ description: 'Return only open, or only closed accounts.' }),
  cursor: namedCursorParameter,
});

const name = nameOf('account', 'Seattle shop');
const perMinute = quotaMember(
  'Requests per minute. Required with plan `enterprise`, and only there.',
).optional();
const perDay = quotaMember('Requests per day. Required with plan `enterprise`, and only there.').optional();

export const NewAccount = z
  .strictObject(
    { name, plan: PlanName, perMinute, perDay },
    { error: bodyError('a new account', 'name, plan, perMinute and perDay') },
  )
  .meta({ id: 'NewAccount', description: 'An account to create.' });

export const AccountPatch = z
  .strictObject(
    { name: name.optional(), plan: PlanName.optional(), perMinute, perDay },
    { error: bodyError('a change of an account', 'name, plan, perMinute and perDay') },
  )
  .meta({
    id: 'AccountPatch',
    description: 'What to change about an account; other members stay as they are.',
  });

const Window = z.object({
  limit: count.meta({ description: 'Requests that the plan allows in the window.' }),
  used: count.meta({ description: 'Requests used of it.' }),
  resetAt: instant('When the window ends, UTC; null when none is open.').nullable(),
});

export const AccountLimits = z
  .object({ minute: Window, day: Window })
  .meta({ id: 'AccountLimits', description: 'What an account has used of both windows now.' });

export const AccountId = idParameter('ID of the account.');

export type Account = z.infer<typeof Account>;

/** What the entity tag of an account is derived from. */
export const accountTagText = (account: Account) => JSON.stringify(account);
export type AccountLimits = z.infer<typeof AccountLimits>;
