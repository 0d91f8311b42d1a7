/**
 * The scopes of a key, for every operation of the contract. In every-operation.test.ts, each operation is called with
 * only its scope.
 */
import { describe, expect, test } from 'bun:test';
import { allOperations } from '../../src/contract/operations.ts';
import { scopes as allScopes, defaultScopes, type Scope } from '../../src/domain/scope.ts';
import { startAppForFile, startTestApp, type TestApp } from '../support/app.ts';
import type { Answer } from '../support/call.ts';
import { type Buyer, buyerOf, clientOf } from '../support/orders.ts';
import { newPet } from '../support/pets.ts';
import { sampleOf, send } from '../support/requests.ts';

const app = await startAppForFile();
const owner = await buyerOf(app);
/** For each scope, a key with all other scopes. */
const allBut = new Map<Scope, Buyer>();
const none = await buyerOf(app, []);
for (const scope of allScopes) {
  const others = allScopes.filter((other) => other !== scope);
  allBut.set(scope, await buyerOf(app, others));
}

function expectRefused(answer: Answer, scope: Scope): void {
  if (answer.text !== '') expect(answer.error).toMatchObject({ status: 403, code: 'insufficient_scope' });
  expect(answer.status).toBe(403);
  expect(answer.header('WWW-Authenticate')).toBe(
    `Bearer realm="animal-store", error="insufficient_scope", scope="${scope}"`,
  );
}

const scoped = allOperations.filter(({ scope }) => scope !== undefined);

describe.each(scoped)('$operationId', (operation) => {
  test('is rejected with 403 for a key that has all other scopes, or no scopes', async () => {
    const sample = await sampleOf(app, operation);
    for (const buyer of [allBut.get(operation.scope as Scope), none]) {
      expectRefused(await send(app, sample, { key: buyer?.key ?? null }), operation.scope as Scope);
    }
  });
});

describe.each(scoped.filter(({ method }) => method === 'GET'))('$operationId', (operation) => {
  test('is rejected with 403 even if the page is cached for other keys', async () => {
    const { target } = await sampleOf(app, operation);
    await owner.call('GET', target);
    expectRefused(await none.call('HEAD', target), operation.scope as Scope);
    const cached = await none.call('GET', target, { headers: { 'If-None-Match': '*' } });
    expectRefused(cached, operation.scope as Scope);
  });
});

test('getRateLimit requires no scope', async () => {
  expect((await none.call('GET', '/rate-limit')).status).toBe(200);
});

describe('the scopes of a key', () => {
  const may = async (of: TestApp, key: string): Promise<Scope[]> => {
    const { call } = clientOf(of, key);
    const tries = {
      'pets:read': () => call('GET', '/pets'),
      'pets:create': () => call('POST', '/pets', { body: newPet() }),
      'pets:write': () => call('DELETE', '/pets/999999'),
      'orders:read': () => call('GET', '/orders'),
      'orders:write': () => call('POST', '/orders/999999/approve'),
      'events:read': () => call('GET', '/events'),
      'webhooks:write': () => call('GET', '/webhooks'),
    } as const satisfies Record<Scope, () => Promise<Answer>>;
    const has: Scope[] = [];
    for (const scope of allScopes) if ((await tries[scope]()).status !== 403) has.push(scope);
    return has;
  };

  test('are pets:read and pets:create by default', async () => {
    const { key } = await app.operator.keys.create(owner.account.id, 'unsaid');
    expect(await may(app, key)).toEqual([...defaultScopes]);
  });

  test('include all scopes for the first key of a new store', async () => {
    await using fresh = await startTestApp();
    const made = fresh.app.firstKey;
    expect(await may(fresh, made?.key ?? '')).toEqual([...allScopes]);
  });

  test('can be changed by any process, and the change applies to the next request', async () => {
    const own = await buyerOf(app, []);
    for (const given of [['orders:read'], [], allScopes, ['pets:write', 'pets:read']] as Scope[][]) {
      for (const { keys } of [app.operator, app.app.admin]) {
        await keys.setScopes(own.keyId, given);
        expect(await may(app, own.key)).toEqual(allScopes.filter((scope) => given.includes(scope)));
      }
    }
  });

  test('stay the same when the key is rotated', async () => {
    const own = await buyerOf(app, ['orders:read', 'pets:write']);
    const successor = await app.operator.keys.rotate(own.keyId, 60_000);
    expect(successor.scopes).toEqual(['pets:write', 'orders:read']);
    for (const key of [own.key, successor.key]) {
      expect(await may(app, key)).toEqual(['pets:write', 'orders:read']);
    }
    await app.operator.keys.setScopes(own.keyId, []);
    expect(await may(app, own.key)).toEqual([]);
    expect(await may(app, successor.key)).toEqual(['pets:write', 'orders:read']);
  });
});
