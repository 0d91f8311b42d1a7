import { Refusal } from '../../domain/refusal.ts';
import { ifAvailable } from '../if-available.ts';
import type { IssuedKey } from '../keys.ts';
import { pageOf } from '../pages.ts';
import { isoOrNull, shownKey } from '../shown.ts';
import type { HandlersOf } from './handlers.ts';
import type { OperatorServices } from './services.ts';

/** How long a key that is replaced keeps working, in seconds, unless the request says. */
const defaultGraceSeconds = 86_400;

/** What the operations on keys do. */
export const keyHandlers = {
  listKeys: async ({ keys }, { query }) => {
    const accountId = query.accountId === undefined ? undefined : Number(query.accountId);
    const { items, next } = await pageOf(query, {
      path: '/keys',
      read: (after = 0n, limit) => keys.list(Number(after), limit, accountId),
    });
    return { items: (await keys.inUse(items, await bannedIds(keys))).map(shownKey), next };
  },
  createKey: async ({ keys, clock }, { params, body: { name, scopes, expiresAt } }) => {
    if (expiresAt !== undefined && expiresAt <= clock.now()) throw inThePast();
    const lifetime = expiresAt === undefined ? null : { until: expiresAt };
    return shownIssued(await keys.create(Number(params.accountId), name, lifetime, scopes));
  },
  getKey: async ({ keys }, { params }) => find(keys, params),
  updateKey: async ({ keys }, { params, body: { scopes } }, { preconditions }) => {
    if (scopes !== undefined) await keys.setScopes(Number(params.keyId), scopes, preconditions);
    return find(keys, params);
  },
  rotateKey: async ({ keys }, { params, body: { graceSeconds = defaultGraceSeconds } }) =>
    shownIssued(await keys.rotate(Number(params.keyId), graceSeconds * 1_000)),
  revokeKey: async ({ keys }, { params }) => {
    await keys.revoke(Number(params.keyId));
    return find(keys, params);
  },
} satisfies HandlersOf<
  OperatorServices,
  'listKeys' | 'createKey' | 'getKey' | 'updateKey' | 'rotateKey' | 'revokeKey'
>;

async function find(keys: OperatorServices['keys'], { keyId }: { readonly keyId: bigint }) {
  const key = await keys.find(Number(keyId));
  const [inUse] = await keys.inUse([key], await bannedIds(keys));
  return shownKey(inUse as NonNullable<typeof inUse>);
}

/** Undefined where they cannot be read: keys are worth showing all the same. */
function bannedIds(keys: OperatorServices['keys']): Promise<ReadonlySet<number> | undefined> {
  return ifAvailable(() => keys.bannedIds());
}

function shownIssued({ id, accountId, key, scopes, expiresAt }: IssuedKey) {
  return { id, accountId, key, scopes: [...scopes], expiresAt: isoOrNull(expiresAt) };
}

function inThePast(): Refusal {
  const message = 'must be in the future';
  return new Refusal('invalid_body', {
    message: `The request body is invalid: expiresAt ${message}.`,
    details: [{ in: 'body', name: 'expiresAt', message }],
  });
}
