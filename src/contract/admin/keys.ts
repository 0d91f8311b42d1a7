import * as z from 'zod';
import { scopes } from '../../domain/scope.ts';
import { createdJson, mediaTypes, okJson, okPage, rowsOf } from '../operation.ts';
import {
  bodyShape,
  count,
  cursorParameter,
  enumOf,
  instant,
  int64Filter,
  limitParameter,
  noMembers,
  pageShape,
  shape,
} from '../values.ts';
import { AccountId } from './accounts.ts';
import { UsageQuery, UsageSeries, usageTag } from './usage.ts';
import { id, idParameter, instantInput, nameOf } from './values.ts';

export const keyStates = ['live', 'banned', 'expired', 'revoked', 'unknown'] as const;

export const Scope = enumOf(scopes).meta({ id: 'Scope', description: 'Something that a key may do.' });

const Scopes = z
  .array(Scope)
  .min(1, 'must have at least one scope')
  .max(scopes.length, 'must have each scope once at most');

export const Key = shape('Key', 'An API key. The key itself is never shown again.', {
  id: id('ID of the key.'),
  accountId: id('ID of its account.'),
  name: z.string().meta({ description: 'Name of the key.' }),
  lastFour: z.string().meta({ description: 'The last four characters of the key.' }),
  scopes: z.array(Scope).meta({ description: 'What the key may do.' }),
  state: z.enum(keyStates).meta({
    description: 'Whether the key works, and if not, why; `unknown` while bans cannot be read.',
  }),
  createdAt: instant('When the key was made, UTC.'),
  expiresAt: instant('When it expires, UTC; null for never.').nullable(),
  revokedAt: instant('When it was revoked, UTC; null while it is not.').nullable(),
  successorId: id('ID of the key that it was rotated to.').nullable(),
  lastUsedAt: instant('When it made its last request, UTC, to the minute; null for never.').nullable(),
  requestsToday: count.meta({ description: 'Requests since 00:00 UTC.' }),
});

export const Keys = pageShape(Key, 'Keys', 'A page of keys.');

const ListKeysQuery = z.strictObject({
  limit: limitParameter('keys'),
  accountId: int64Filter('Return only keys of this account.'),
  cursor: cursorParameter,
});

const scopesMember = Scopes.meta({ description: 'What the key may do.' });

export const NewKey = bodyShape('NewKey', 'A key to issue.', 'a new key', {
  name: nameOf('key', 'website'),
  scopes: scopesMember.optional(),
  expiresAt: instantInput('When the key expires; never unless given.').optional(),
});

const KeyPatch = bodyShape('KeyPatch', 'What to change about a key.', 'a change of a key', {
  scopes: scopesMember.optional(),
});

export const Rotation = bodyShape('Rotation', 'How a key is replaced.', 'a rotation', {
  graceSeconds: z
    .bigint({ error: 'must be a whole number' })
    .refine((value) => value >= 0n && value <= 31_536_000n, { message: 'must be from 0 to 31536000' })
    .transform(Number)
    .optional()
    .meta({
      description: 'How long the old key keeps working: 86400 unless given.',
      override: { type: 'integer', format: 'int32', minimum: 0, maximum: 31_536_000 },
    }),
});

export const IssuedKey = shape('IssuedKey', 'A new key.', {
  id: id('ID of the key.'),
  accountId: id('ID of its account.'),
  key: z.string().meta({ description: 'The key. It is shown only this once.' }),
  scopes: z.array(Scope).meta({ description: 'What the key may do.' }),
  expiresAt: instant('When it expires, UTC; null for never.').nullable(),
});

export const KeyId = idParameter('ID of the key.');

export type Key = z.infer<typeof Key>;

/** What the entity tag of a key is derived from: all that a change can depend on, and nothing of how the key is used. */
export function keyTagText({
  id,
  name,
  scopes,
  expiresAt,
  revokedAt,
  successorId,
}: Pick<Key, 'id' | 'name' | 'scopes' | 'expiresAt' | 'revokedAt' | 'successorId'>): string {
  return JSON.stringify([id, name, scopes, expiresAt, revokedAt, successorId]);
}
export type IssuedKey = z.infer<typeof IssuedKey>;

const params = { keyId: { schema: KeyId, otherwise: 'key_not_found' } } as const;

const issued = (description: string) => createdJson(IssuedKey, description, ({ id }) => `/keys/${id}`);

export const keyOperations = rowsOf(
  { tag: { name: 'Keys', description: 'The API keys of accounts.' } },
  {
    listKeys: {
      method: 'GET',
      path: '/keys',
      summary: 'List keys',
      description: 'Returns a page of keys by ascending id.',
      query: ListKeysQuery,
      paginated: true,
      success: okPage(Keys, (key: Key) => JSON.stringify(key), 'The page of keys.'),
    },
    createKey: {
      method: 'POST',
      path: '/accounts/{accountId}/keys',
      summary: 'Issue a key',
      description: 'Makes a key of the account. It is shown only in this answer.',
      params: { accountId: { schema: AccountId, otherwise: 'account_not_found' } },
      body: { schema: NewKey },
      success: issued('The key was made.'),
    },
    getKey: {
      method: 'GET',
      path: '/keys/{keyId}',
      summary: 'Get a key',
      description: 'Returns what is known of a key.',
      params,
      success: { ...okJson(Key, 'The requested key.'), tagged: keyTagText },
    },
    updateKey: {
      method: 'PATCH',
      path: '/keys/{keyId}',
      summary: 'Change what a key may do',
      description: 'Sets the scopes of a key. Takes effect with its next request.',
      params,
      body: { schema: KeyPatch, types: [mediaTypes.mergePatch, mediaTypes.json] },
      preconditions: ['If-Match'],
      success: { ...okJson(Key, 'The key as it is now.'), tagged: keyTagText },
    },
    rotateKey: {
      method: 'POST',
      path: '/keys/{keyId}/rotate',
      summary: 'Replace a key',
      description: 'Makes a new key with the same rights. The old one keeps working for a grace period.',
      params,
      body: { schema: Rotation, optional: true },
      success: issued('The new key was made.'),
      errors: ['key_ended'],
    },
    revokeKey: {
      method: 'POST',
      path: '/keys/{keyId}/revoke',
      summary: 'Revoke a key',
      description: 'Ends a key for good, from its next request on.',
      params,
      body: noMembers,
      success: okJson(Key, 'The key as it is now.'),
    },
    getKeyUsage: {
      method: 'GET',
      path: '/keys/{keyId}/usage',
      tag: usageTag,
      summary: 'Get the requests of a key',
      description: 'Returns how many requests the key made, by hour or by day.',
      params,
      query: UsageQuery,
      success: okJson(UsageSeries, 'The requests, oldest first.'),
    },
  },
);
