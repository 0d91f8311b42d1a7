/** Counted requests and their limits (contract, sections 5 and 6). */
import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { startAppForFile } from '../support/app.ts';
import { newPet } from '../support/pets.ts';

/** Each test advances the clock and creates new accounts. */
const app = await startAppForFile();

/** Sends a request with the key. Returns the remaining requests of its account. */
async function left(key: string): Promise<number> {
  return (await app.call('GET', '/pets', { key })).number('X-RateLimit-Remaining');
}

describe('a request does not count', () => {
  test('if its credential is invalid, even if the key was revoked or mistyped', async () => {
    const { key, account } = await app.tenant('free');
    const revoked = await app.app.admin.keys.create(account.id, 'revoked');
    await app.operator.keys.revoke(revoked.id);
    expect((await app.call('GET', '/pets', { key: revoked.key })).status).toBe(401);
    expect((await app.call('GET', '/pets', { key: `${key.slice(0, -1)}_` })).status).toBe(401);
    expect(await left(key)).toBe(59);
  });

  test('if the store is unavailable (503)', async () => {
    const { key } = await app.tenant('free');
    expect(await left(key)).toBe(59);
    const other = new Database(app.config.databaseUrl.replace('sqlite:', ''));
    other.run('BEGIN IMMEDIATE');
    const answer = await app.call('POST', '/pets', { key, body: newPet('Lost', '1', 'sold') });
    other.run('ROLLBACK');
    other.close();
    expect(answer.error).toMatchObject({ status: 503, code: 'service_unavailable' });
    expect(answer.number('Retry-After')).toBeGreaterThanOrEqual(1);
    expect(answer.number('X-RateLimit-Remaining')).toBe(59);
    expect(answer.header('RateLimit')).toBe('"minute";r=59;t=60, "day";r=999;t=86400');
    expect(await left(key)).toBe(58);
    expect((await app.call('GET', '/pets?status=sold', { key })).text).toBe('[]');
  });
});

describe('limits are counted per account', () => {
  test('a new key shares the counts of the rotated key, which stays valid for its grace period', async () => {
    const { key, keyId } = await app.tenant('free');
    expect(await left(key)).toBe(59);
    const successor = await app.operator.keys.rotate(keyId, 30_000);
    expect(await left(successor.key)).toBe(58);
    expect(await left(key)).toBe(57);
    app.clock.advance(29.999);
    expect(await left(key)).toBe(56);
    app.clock.advance(0.001);
    expect((await app.call('GET', '/pets', { key })).error.code).toBe('invalid_api_key');
    expect(await left(successor.key)).toBe(55);
  });
});

describe('a change of plan by an operator', () => {
  test('applies to the next request, and does not reset the used quota', async () => {
    const { key, account } = await app.tenant('free');
    expect(await left(key)).toBe(59);
    await app.operator.accounts.update(account.id, { plan: 'pro' });
    expect(await left(key)).toBe(298);
    await app.operator.accounts.update(account.id, {
      plan: 'enterprise',
      custom: { perMinute: 2, perDay: 10 },
    });
    const refused = await app.call('GET', '/pets', { key });
    expect(refused.error.code).toBe('rate_limit_exceeded');
    expect(refused.number('X-RateLimit-Limit')).toBe(2);
    await app.operator.accounts.update(account.id, { plan: 'business' });
    expect(await left(key)).toBe(997);
  });
});
