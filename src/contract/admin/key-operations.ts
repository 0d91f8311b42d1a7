import { created, mediaTypes, type Operation, page, shown } from '../operation.ts';
import { NoMembers } from '../orders.ts';
import { AccountId } from './accounts.ts';
import { IssuedKey, Key, KeyId, KeyPatch, Keys, ListKeysQuery, NewKey, Rotation } from './keys.ts';
import { UsageQuery, UsageSeries } from './usage.ts';

const params = { keyId: { schema: KeyId, otherwise: 'key_not_found' } } as const;

const issuedJson = (issued: IssuedKey) => JSON.stringify(issued);

const issued = (description: string) =>
  created(IssuedKey, issuedJson, ({ id }) => `/keys/${id}`, description);

export const keyOperations = {
  listKeys: {
    operationId: 'listKeys',
    method: 'GET',
    path: '/keys',
    tag: 'Keys',
    summary: 'List keys',
    description: 'Returns a page of keys by ascending id.',
    stability: 'beta',
    query: ListKeysQuery,
    reads: [],
    paginated: true,
    success: page(Keys, (key: Key) => JSON.stringify(key), 'The page of keys.'),
    errors: [],
  },
  createKey: {
    operationId: 'createKey',
    method: 'POST',
    path: '/accounts/{accountId}/keys',
    tag: 'Keys',
    summary: 'Issue a key',
    description: 'Makes a key of the account. It is shown only in this answer.',
    stability: 'beta',
    params: { accountId: { schema: AccountId, otherwise: 'account_not_found' } },
    body: { schema: NewKey },
    reads: [],
    success: issued('The key was made.'),
    errors: ['account_not_found'],
  },
  getKey: {
    operationId: 'getKey',
    method: 'GET',
    path: '/keys/{keyId}',
    tag: 'Keys',
    summary: 'Get a key',
    description: 'Returns what is known of a key.',
    stability: 'beta',
    params,
    reads: [],
    success: shown(Key, 'The requested key.'),
    errors: ['key_not_found'],
  },
  updateKey: {
    operationId: 'updateKey',
    method: 'PATCH',
    path: '/keys/{keyId}',
    tag: 'Keys',
    summary: 'Change what a key may do',
    description: 'Sets the scopes of a key. Takes effect with its next request.',
    stability: 'beta',
    params,
    body: { schema: KeyPatch, types: [mediaTypes.mergePatch, mediaTypes.json] },
    reads: [],
    success: shown(Key, 'The key as it is now.'),
    errors: ['key_not_found'],
  },
  rotateKey: {
    operationId: 'rotateKey',
    method: 'POST',
    path: '/keys/{keyId}/rotate',
    tag: 'Keys',
    summary: 'Replace a key',
    description: 'Makes a new key with the same rights. The old one keeps working for a grace period.',
    stability: 'beta',
    params,
    body: { schema: Rotation, optional: true },
    reads: [],
    success: issued('The new key was made.'),
    errors: ['key_not_found', 'key_ended'],
  },
  revokeKey: {
    operationId: 'revokeKey',
    method: 'POST',
    path: '/keys/{keyId}/revoke',
    tag: 'Keys',
    summary: 'Revoke a key',
    description: 'Ends a key for good, from its next request on.',
    stability: 'beta',
    params,
    body: { schema: NoMembers, optional: true },
    reads: [],
    success: shown(Key, 'The key as it is now.'),
    errors: ['key_not_found'],
  },
  getKeyUsage: {
    operationId: 'getKeyUsage',
    method: 'GET',
    path: '/keys/{keyId}/usage',
    tag: 'Usage',
    summary: 'Get the requests of a key',
    description: 'Returns how many requests the key made, by hour or by day.',
    stability: 'beta',
    params,
    query: UsageQuery,
    reads: [],
    success: shown(UsageSeries, 'The requests, oldest first.'),
    errors: ['key_not_found'],
  },
} as const satisfies Readonly<Record<string, Operation>>;
