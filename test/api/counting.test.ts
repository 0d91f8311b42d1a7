/** Which requests count, and against whom (contract, sections 5 and 6). */
import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { startTestApp } from '../support/app.ts';
import type { CallOptions } from '../support/call.ts';
import { newPet } from '../support/pets.ts';

/** Each test advances the clock and uses separate accounts. */
const app = await startTestApp();
afterAll(() => app[Symbol.asyncDispose]());

/** The requests an account has left after one more with the key. */
async function left(key: string): Promise<number> {
  return (await app.call('GET', '/pets', { key })).number('X-RateLimit-Remaining');
}

describe('a request counts as one', () => {
  test.each([
    [200, 'GET', '/pets', {}],
    [200, 'HEAD', '/pets', {}],
    [201, 'POST', '/pets', { body: newPet() }],
    [400, 'GET', '/pets?limit=0', {}],
    [400, 'POST', '/pets', { body: '{' }],
    [404, 'GET', '/pets/99', {}],
    [404, 'GET', '/elsewhere', {}],
    [405, 'DELETE', '/pets', {}],
    [413, 'POST', '/pets', { body: ' '.repeat(16_385) }],
    [415, 'POST', '/pets', { body: newPet(), type: 'text/plain' }],
  ])('when it is answered %i: %s %s', async (status, method, target, options: CallOptions) => {
    const { key } = await app.tenant('free');
    const answer = await app.call(method, target, { ...options, key });
    expect(answer.status).toBe(status);
    expect(answer.number('X-RateLimit-Remaining')).toBe(59);
    expect(await left(key)).toBe(58);
  });
});

describe('a request counts as none', () => {
  test('when it is refused for its limit: neither window grows', async () => {
    const { key } = await app.tenant('enterprise', { perMinute: 2, perDay: 100 });
    await left(key);
    await left(key);
    for (let refused = 0; refused < 5; refused++) {
      const answer = await app.call('GET', '/pets', { key });
      expect(answer.header('RateLimit')).toBe('"minute";r=0;t=60, "day";r=98;t=86400');
    }
    app.clock.advance(60);
    expect((await app.call('GET', '/pets', { key })).header('RateLimit')).toContain('"day";r=97');
  });

  test('when its credential is invalid, not even for the account of a revoked or mistyped key', async () => {
    const { key, account } = await app.tenant('free');
    const revoked = await app.app.admin.keys.create(account.id, 'revoked');
    await app.operator.keys.revoke(revoked.id);
    expect((await app.call('GET', '/pets', { key: revoked.key })).status).toBe(401);
    expect((await app.call('GET', '/pets', { key: `${key.slice(0, -1)}_` })).status).toBe(401);
    expect(await left(key)).toBe(59);
  });

  test('when the store cannot do it right now (503)', async () => {
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
  test('the keys of an account share them, other accounts do not', async () => {
    const one = await app.tenant('free');
    const other = await app.tenant('free');
    const second = await app.app.admin.keys.create(one.account.id, 'second');
    expect([await left(one.key), await left(second.key), await left(one.key)]).toEqual([59, 58, 57]);
    expect(await left(other.key)).toBe(59);
  });

  test('a rotated key continues the counts of the old one, which stays valid for its grace period', async () => {
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

describe('a change by an operator applies to the next request', () => {
  test('another plan, up and down, without forgetting what was used', async () => {
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

  test('a revoked key is refused, and so is one that expires', async () => {
    const { key, keyId, account } = await app.tenant('free');
    const short = await app.app.admin.keys.create(account.id, 'short', 5_000);
    expect((await app.call('GET', '/pets', { key })).status).toBe(200);
    await app.operator.keys.revoke(keyId);
    expect((await app.call('GET', '/pets', { key })).status).toBe(401);
    app.clock.advance(4.999);
    expect((await app.call('GET', '/pets', { key: short.key })).status).toBe(200);
    app.clock.advance(0.001);
    expect((await app.call('GET', '/pets', { key: short.key })).status).toBe(401);
  });

  test('a new key is admitted', async () => {
    const { key } = await app.operator.keys.create(1, 'made beside the service');
    expect((await app.call('GET', '/pets', { key })).status).toBe(200);
  });
});

describe('a restart', () => {
  test('forgets no count', async () => {
    const { key } = await app.tenant('free');
    expect([await left(key), await left(key), await left(key)]).toEqual([59, 58, 57]);
    await app.restart();
    expect(await left(key)).toBe(56);
  });
});
