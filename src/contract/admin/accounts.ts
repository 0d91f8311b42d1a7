import * as z from 'zod';
import { maxQuota } from '../../domain/plan.ts';
import { createdJson, defineOperations, mediaTypes, okJson, okPage } from '../operation.ts';
import {
  bodySchema,
  controlCharacter,
  count,
  emptyBody,
  enumSchema,
  instant,
  limitParameter,
  nameCursorParameter,
  objectSchema,
  pageSchema,
  requiredString,
} from '../values.ts';
import { UsageQuery, UsageSeries, usageTag } from './usage.ts';
import { id, idParameter, nameSchema, PlanName, searchText } from './values.ts';

const accountStates = ['open', 'closed'] as const;

const AccountState = enumSchema(accountStates);

export const Account = objectSchema('Account', 'An account, with its plan and rate limits.', {
  id: id('ID of the account.'),
  name: z.string().describe('Name of the account.'),
  plan: PlanName,
  perMinute: count.describe('Requests that the plan allows per minute.'),
  perDay: count.describe('Requests that the plan allows per day.'),
  createdAt: instant('Time when the account was created (UTC).'),
  closedAt: instant('Time when the account was closed (UTC); null if it is open.').nullable(),
  note: z.string().nullable().describe('Note for operators, not visible to clients; null if there is none.'),
  requestsToday: count
    .optional()
    .describe("Requests made with any of the account's keys since 00:00 UTC. Present only in lists."),
  lastUsedAt: instant('Time of the last request with any key (UTC), to the minute. Present only in lists.')
    .nullable()
    .optional(),
});

const accountOrders = ['id', 'name', 'requestsToday', 'lastUsedAt'] as const;

const Accounts = pageSchema(Account, 'Accounts', 'A page of accounts.');

export const ListAccountsQuery = z.strictObject({
  limit: limitParameter('accounts'),
  name: searchText(255)
    .min(1, 'must not be empty')
    .optional()
    .describe('Return only accounts whose name begins with this text, ignoring case, ordered by name.'),
  state: AccountState.optional().describe('Return only open or only closed accounts.'),
  sort: enumSchema(accountOrders)
    .optional()
    .describe(
      'Sort order: by id, by name, by requests today (UTC, most first), or by last use (latest first). ' +
        'Defaults to `name` if the `name` filter is used, and to `id` otherwise.',
    ),
  cursor: nameCursorParameter,
});

const name = nameSchema('account', 'Seattle shop');

const quotaMember = (window: string) =>
  z
    .bigint({ error: 'must be a whole number' })
    .refine((value) => value >= 1n && value <= BigInt(maxQuota), {
      message: `must be from 1 to ${maxQuota}`,
    })
    .transform(Number)
    .meta({
      description: `Requests per ${window}. Required for the \`enterprise\` plan, and not allowed for other plans.`,
      override: { type: 'integer', format: 'int64', minimum: 1, maximum: maxQuota },
      examples: [5_000],
    })
    .optional();

const [perMinute, perDay] = [quotaMember('minute'), quotaMember('day')];

const NewAccount = bodySchema('NewAccount', 'An account to create.', 'a new account', {
  name,
  plan: PlanName,
  perMinute,
  perDay,
});

const longestNote = 2_000;

const note = requiredString()
  .max(longestNote, `must have at most ${longestNote.toLocaleString('en')} characters`)
  .refine((value) => !controlCharacter.test(value.replaceAll('\n', '')), {
    message: 'must not contain control characters other than line feeds',
  })
  .refine((value) => value.isWellFormed(), {
    message: 'must be well-formed Unicode (it has a lone surrogate)',
  })
  .transform((value) => (value.trim() === '' ? null : value))
  .meta({
    description: 'Note for operators. It can span several lines. An empty string or null removes the note.',
    examples: ['Wants Business from May; answer by Friday.'],
    override: { type: 'string', maxLength: longestNote },
  });

const AccountPatch = bodySchema(
  'AccountPatch',
  'Changes to an account. Omitted fields are unchanged.',
  'a change to an account',
  { name: name.optional(), plan: PlanName.optional(), perMinute, perDay, note: note.nullable().optional() },
);

const Window = z.object({
  limit: count.describe('Requests that the plan allows in the window.'),
  used: count.describe('Requests used in the window.'),
  resetAt: instant('Time when the window ends (UTC); null if no window is open.').nullable(),
});

export const AccountLimits = objectSchema('AccountLimits', "Current usage of an account's rate limits.", {
  minute: Window,
  day: Window,
});

export const AccountId = idParameter('ID of the account.');

export type Account = z.infer<typeof Account>;

const accountJson = (account: Account) => JSON.stringify(account);

export type AccountLimits = z.infer<typeof AccountLimits>;

const params = { accountId: { schema: AccountId, otherwise: 'account_not_found' } } as const;

const step = {
  params,
  body: emptyBody,
  success: okJson(Account, 'The account after the change.'),
} as const;

export const accountOperations = defineOperations(
  { tag: { name: 'Accounts', description: 'Accounts and their plans.' } },
  {
    listAccounts: {
      route: 'GET /accounts',
      summary: 'List accounts',
      description:
        'Returns a page of accounts with their usage, in ascending order of id or as specified by `sort`. When sorting by `requestsToday` or `lastUsedAt`, an account may move to another page between requests.',
      query: ListAccountsQuery,
      paginated: true,
      success: okPage(Accounts, accountJson, 'A page of accounts.'),
    },
    createAccount: {
      route: 'POST /accounts',
      summary: 'Create an account',
      description: 'Creates an account with the limits of its plan. `enterprise` requires explicit limits.',
      body: { schema: NewAccount },
      success: createdJson(Account, 'The account was created.', ({ id }) => `/accounts/${id}`),
    },
    getAccount: {
      route: 'GET /accounts/{accountId}',
      summary: 'Get an account',
      description: 'Returns an account.',
      params,
      success: { ...okJson(Account, 'The requested account.'), tagged: accountJson },
    },
    updateAccount: {
      route: 'PATCH /accounts/{accountId}',
      summary: 'Change an account',
      description:
        'Renames an account, or changes its plan or its note. The change takes effect on the next request made with any of its keys.',
      params,
      body: { schema: AccountPatch, types: [mediaTypes.mergePatch, mediaTypes.json] },
      preconditions: ['If-Match'],
      success: { ...okJson(Account, 'The account after the change.'), tagged: accountJson },
    },
    closeAccount: {
      ...step,
      route: 'POST /accounts/{accountId}/close',
      summary: 'Close an account',
      description:
        'Disables all keys of the account, starting with the next request, and all its webhooks. Nothing is deleted.',
    },
    reopenAccount: {
      ...step,
      route: 'POST /accounts/{accountId}/reopen',
      summary: 'Reopen an account',
      description:
        'Re-enables the keys of a closed account. Webhooks that were disabled when it was closed stay disabled until they are enabled, and do not get the events that occurred in between.',
    },
    getAccountLimits: {
      route: 'GET /accounts/{accountId}/limits',
      summary: "Get an account's rate limits",
      description:
        "Returns how many requests the account has used in each window. This request does not count against the account's limits.",
      params,
      success: okJson(AccountLimits, 'Usage in each window.'),
    },
    getAccountUsage: {
      route: 'GET /accounts/{accountId}/usage',
      tag: usageTag,
      summary: "Get an account's usage",
      description: "Returns the number of requests made with any of the account's keys, by hour or by day.",
      params,
      query: UsageQuery,
      success: okJson(UsageSeries, 'The request counts, oldest first.'),
    },
  },
);
