import * as z from 'zod';
import { scopes } from '../../domain/scope.ts';
import { createdJson, defineOperations, mediaTypes, okJson, okPage } from '../operation.ts';
import {
  bodySchema,
  count,
  cursorParameter,
  emptyBody,
  enumSchema,
  instant,
  int64Filter,
  limitParameter,
  listInput,
  objectSchema,
  pageSchema,
} from '../values.ts';
import { AccountId } from './accounts.ts';
import { keyTagInput } from './key-tag.ts';
import { direction } from './lists.ts';
import { KeyOperationUsages, UsageQuery, UsageSeries, usageTag } from './usage.ts';
import { id, idParameter, instantInput, nameSchema, since, until } from './values.ts';

const keyStates = ['live', 'banned', 'expired', 'revoked', 'unknown'] as const;

const Scope = enumSchema(scopes).meta({ id: 'Scope', description: 'A permission of a key.' });

const Scopes = listInput(
  z.array(Scope).min(1, 'must have at least one scope').max(scopes.length, 'must not repeat a scope'),
  scopes.length,
  'must not repeat a scope',
);

export const Key = objectSchema(
  'Key',
  'An API key, without the secret value, which is shown only when the key is created.',
  {
    id: id('ID of the key.'),
    accountId: id('ID of the account.'),
    name: z.string().describe('Name of the key.'),
    lastFour: z.string().describe('The last four characters of the key.'),
    scopes: z.array(Scope).describe('Scopes of the key.'),
    state: z.enum(keyStates).describe('Status of the key; `unknown` while bans cannot be read.'),
    createdAt: instant('Time when the key was created (UTC).'),
    expiresAt: instant('Time when the key expires (UTC); null if it never expires.').nullable(),
    revokedAt: instant('Time when the key was revoked (UTC); null if it is not revoked.').nullable(),
    successorId: id('ID of the key that replaced this key.').nullable(),
    lastUsedAt: instant(
      'Time of the last request (UTC), to the minute; null if the key was never used.',
    ).nullable(),
    requestsToday: count.describe('Requests since 00:00 UTC.'),
  },
);

export const FoundKey = Key.extend({
  predecessorId: id('ID of the key that this key replaced.').nullable(),
}).meta({ id: 'FoundKey', description: 'An API key, with the ID of the key that it replaced.' });

const Keys = pageSchema(Key, 'Keys', 'A page of keys.');

export const BanStatus = objectSchema('BanStatus', "A key's bans, and its strikes toward the next ban.", {
  strikes: count.describe(
    'Number of requests within `withinSeconds` that were sent after a 429 response without waiting for `Retry-After`.',
  ),
  strikesToBan: count.describe('Number of strikes after which the key is banned.'),
  withinSeconds: count.describe('Number of seconds for which a strike counts.'),
  bans: count.describe(
    'Number of consecutive bans, including any active one; 0 once earlier bans no longer lengthen the next one.',
  ),
  lastBan: objectSchema('LastBan', 'A past or active ban.', {
    from: instant('Time when the ban began (UTC).'),
    until: instant('Time when the ban ends or ended (UTC).'),
  })
    .nullable()
    .describe('The latest ban; null if there is none.'),
  nextBanSeconds: count.describe('Length of the next ban, in seconds.'),
});

export type BanStatus = z.infer<typeof BanStatus>;

const ListKeysQuery = z.strictObject({
  limit: limitParameter('keys'),
  accountId: int64Filter("Return only this account's keys."),
  state: enumSchema(keyStates).optional().describe('Return only keys in this state.'),
  order: direction,
  cursor: cursorParameter,
});

const scopesMember = Scopes.describe('Scopes of the key.');

const NewKey = bodySchema('NewKey', 'A key to issue.', 'a new key', {
  name: nameSchema('key', 'website'),
  scopes: scopesMember.optional(),
  expiresAt: instantInput('Time when the key expires. Defaults to never.').optional(),
});

const KeyPatch = bodySchema('KeyPatch', 'Changes to a key.', 'a change to a key', {
  scopes: scopesMember.optional(),
});

const Rotation = bodySchema('Rotation', 'Options for the rotation of a key.', 'a rotation', {
  graceSeconds: z
    .bigint({ error: 'must be a whole number' })
    .refine((value) => value >= 0n && value <= 31_536_000n, { message: 'must be from 0 to 31536000' })
    .transform(Number)
    .optional()
    .meta({
      description: 'Seconds for which the old key stays active. Defaults to 86400.',
      override: { type: 'integer', format: 'int32', minimum: 0, maximum: 31_536_000 },
    }),
});

const IssuedKey = objectSchema('IssuedKey', 'A new key.', {
  id: id('ID of the key.'),
  accountId: id('ID of the account.'),
  key: z.string().describe('The key. Shown only once.'),
  scopes: z.array(Scope).describe('Scopes of the key.'),
  expiresAt: instant('Time when the key expires (UTC); null if it never expires.').nullable(),
});

export const KeyId = idParameter('ID of the key.');

export type FoundKey = z.infer<typeof FoundKey>;
export type Key = z.infer<typeof Key>;

const params = { keyId: { schema: KeyId, otherwise: 'key_not_found' } } as const;

const issued = (description: string) => createdJson(IssuedKey, description, ({ id }) => `/keys/${id}`);

export const keyOperations = defineOperations(
  { tag: { name: 'Keys', description: 'API keys that belong to accounts.' } },
  {
    listKeys: {
      route: 'GET /keys',
      summary: 'List keys',
      description: 'Returns a page of keys in ascending order of id or, with `order=desc`, newest first.',
      query: ListKeysQuery,
      paginated: true,
      success: okPage(Keys, (key: Key) => JSON.stringify(key), 'A page of keys.'),
    },
    createKey: {
      route: 'POST /accounts/{accountId}/keys',
      summary: 'Issue a key',
      description: 'Creates a key for the account. The key is shown only in this response.',
      params: { accountId: { schema: AccountId, otherwise: 'account_not_found' } },
      body: { schema: NewKey },
      success: issued('The key was created.'),
    },
    getKey: {
      route: 'GET /keys/{keyId}',
      summary: 'Get a key',
      description: 'Returns a key without its secret.',
      params,
      success: { ...okJson(FoundKey, 'The requested key.'), tagged: keyTagInput },
    },
    updateKey: {
      route: 'PATCH /keys/{keyId}',
      summary: "Change a key's scopes",
      description: 'Sets the scopes of a key. The change takes effect on the next request made with the key.',
      params,
      body: { schema: KeyPatch, types: [mediaTypes.mergePatch, mediaTypes.json] },
      preconditions: ['If-Match'],
      success: { ...okJson(Key, 'The key after the change.'), tagged: keyTagInput },
    },
    rotateKey: {
      route: 'POST /keys/{keyId}/rotate',
      summary: 'Rotate a key',
      description: 'Creates a new key with the same scopes. The old key stays active for a grace period.',
      params,
      body: { schema: Rotation, optional: true },
      success: issued('The new key was created.'),
      errors: ['key_ended'],
    },
    revokeKey: {
      route: 'POST /keys/{keyId}/revoke',
      summary: 'Revoke a key',
      description: 'Permanently disables a key, starting with the next request.',
      params,
      body: emptyBody,
      success: okJson(Key, 'The key after the change.'),
    },
    getKeyBanStatus: {
      route: 'GET /keys/{keyId}/ban-status',
      summary: "Get a key's ban status",
      description:
        'Returns the strikes and bans of the key. A strike is a request that was sent after a 429 response without waiting for `Retry-After`. A key with too many strikes is banned.',
      params,
      success: okJson(BanStatus, 'The strikes and bans.'),
    },
    getKeyUsage: {
      route: 'GET /keys/{keyId}/usage',
      tag: usageTag,
      summary: "Get a key's usage",
      description: 'Returns the number of requests made with the key, by hour or by day.',
      params,
      query: UsageQuery,
      success: okJson(UsageSeries, 'The request counts, oldest first.'),
    },
    getKeyOperations: {
      route: 'GET /keys/{keyId}/usage/operations',
      tag: usageTag,
      summary: "Get a key's usage by operation",
      description:
        'Returns the number of requests made with the key, by operation and day (UTC). `since` defaults to 30 days ago. Daily counts are kept for 35 days.',
      params,
      query: z.strictObject({ since, until }),
      success: okJson(KeyOperationUsages, 'The request counts, oldest first.'),
    },
  },
);
