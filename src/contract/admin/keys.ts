import * as z from 'zod';
import { scopes } from '../../domain/scope.ts';
import {
  bodyError,
  count,
  cursorParameter,
  instant,
  int64Parameter,
  limitParameter,
  oneOf,
  pageLimit,
} from '../values.ts';
import { id, idParameter, instantInput, nameOf } from './values.ts';

export const keyStates = ['live', 'banned', 'expired', 'revoked', 'unknown'] as const;

export const Scope = z
  .enum(scopes, { error: oneOf(scopes) })
  .meta({ id: 'Scope', description: 'Something that a key may do.' });

const Scopes = z
  .array(Scope)
  .min(1, 'must have at least one scope')
  .max(scopes.length, 'must have each scope once at most');

export const Key = z
  .object({
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
  })
  .meta({ id: 'Key', description: 'An API key. The key itself is never shown again.' });

export const Keys = z.array(Key).max(pageLimit.max).meta({ id: 'Keys', description: 'A page of keys.' });

export const ListKeysQuery = z.strictObject({
  limit: limitParameter('keys'),
  accountId: int64Parameter('Return only keys of this account.').optional(),
  cursor: cursorParameter,
});

const scopesMember = Scopes.meta({ description: 'What the key may do.' });

export const NewKey = z
  .strictObject(
    {
      name: nameOf('key', 'website'),
      scopes: scopesMember.optional(),
      expiresAt: instantInput('When the key expires; never unless given.').optional(),
    },
    { error: bodyError('a new key', 'name, scopes and expiresAt') },
  )
  .meta({ id: 'NewKey', description: 'A key to issue.' });

export const KeyPatch = z
  .strictObject({ scopes: scopesMember.optional() }, { error: bodyError('a change of a key', 'scopes') })
  .meta({ id: 'KeyPatch', description: 'What to change about a key.' });

export const Rotation = z
  .strictObject(
    {
      graceSeconds: z
        .bigint({ error: 'must be a whole number' })
        .refine((value) => value >= 0n && value <= 31_536_000n, { message: 'must be from 0 to 31536000' })
        .transform(Number)
        .optional()
        .meta({
          description: 'How long the old key keeps working: 86400 unless given.',
          override: { type: 'integer', format: 'int32', minimum: 0, maximum: 31_536_000 },
        }),
    },
    { error: bodyError('a rotation', 'graceSeconds') },
  )
  .meta({ id: 'Rotation', description: 'How a key is replaced.' });

export const IssuedKey = z
  .object({
    id: id('ID of the key.'),
    accountId: id('ID of its account.'),
    key: z.string().meta({ description: 'The key. It is shown only this once.' }),
    scopes: z.array(Scope).meta({ description: 'What the key may do.' }),
    expiresAt: instant('When it expires, UTC; null for never.').nullable(),
  })
  .meta({ id: 'IssuedKey', description: 'A new key.' });

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
