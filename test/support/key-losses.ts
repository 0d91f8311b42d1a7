/** Events that end a key's streams and waiting requests. */
import type { Scope } from '../../src/domain/scope.ts';
import type { Tenant, TestApp } from './app.ts';

/** Lifetimes of keys. The long lifetime outlasts the test, and the short one ends during it. */
const validity = { longMs: 1_800_000, shortMs: 10_000 } as const;

const scopes = ['pets:read', 'orders:read', 'events:read'] as const satisfies readonly Scope[];

export const keyLosses = {
  'its key is revoked': ({ operator }: TestApp, { keyId }: Tenant) => operator.keys.revoke(keyId),
  'its account is closed': ({ operator }: TestApp, { account }: Tenant) =>
    operator.accounts.close(account.id),
  'its key loses events:read': ({ operator }: TestApp, { keyId }: Tenant) =>
    operator.keys.setScopes(keyId, ['pets:read']),
  'its key loses the scope of a type': ({ operator }: TestApp, { keyId }: Tenant) =>
    operator.keys.setScopes(keyId, ['pets:read', 'events:read']),
  'its key expires': ({ clock }: TestApp) => clock.advance((2 * validity.shortMs) / 1_000),
  'its key is banned': async ({ clock, call }: TestApp, { key }: Tenant) => {
    // Many requests are needed, because those rejected in the first second of an episode do not count as strikes.
    for (let sent = 0; sent < 1_200; sent++) {
      clock.advance(0.02);
      if ((await call('GET', '/pets', { key })).error.code === 'api_key_banned') return;
    }
  },
};

type KeyLoss = keyof typeof keyLosses;

export const keyLossNames = Object.keys(keyLosses) as KeyLoss[];

/** Creates a key that one of `keyLosses` can end. */
export async function losingKey({ app, tenant }: TestApp, what: KeyLoss): Promise<Tenant> {
  const { account } = await tenant('enterprise', { perMinute: 2, perDay: 1_000 });
  const validMs = what === 'its key expires' ? validity.shortMs : validity.longMs;
  const { key, id: keyId } = await app.admin.keys.create(account.id, 'till', validMs, scopes);
  return { account, key, keyId };
}
