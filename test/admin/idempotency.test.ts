/** Operators' requests are applied exactly once, even if they are repeated. */
import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { allAdminOperations } from '../../src/contract/admin/operations.ts';
import { isRepeatable } from '../../src/contract/operations.ts';
import { OperatorIdempotency } from '../../src/operations/changes/by-operator.ts';
import { addOperator, callAdmin, fromConsole, signIn } from '../support/admin.ts';
import { startAppForFile } from '../support/app.ts';

const app = await startAppForFile();
const { token } = await addOperator(app, 'admin');
const other = await addOperator(app, 'admin');
const { account } = await app.tenant('pro');

let keysMade = 0;
/** Creates a unique Idempotency-Key. */
const makeKey = () => `key-${String(++keysMade).padStart(32, '0')}`;

interface Sent {
  readonly token?: string;
  readonly key?: string;
  readonly body?: unknown;
}

const post = (target: string, { key, body, token: as = token }: Sent = {}) =>
  callAdmin(app, 'POST', target, { token: as, body, headers: key ? { 'Idempotency-Key': key } : {} });

const issue = (sent: Sent) => post('/accounts/1/keys', { body: { name: 'till' }, ...sent });
const keys = async () => (await callAdmin(app, 'GET', '/keys?limit=100', { token })).body as unknown[];
const entries = async () => (await app.app.admin.storage.audit.list(undefined, 10_000, {})).length;

/** The text of all stored responses. */
function stored(): string {
  using database = new Database(app.config.databaseUrl.replace('sqlite:', ''), { readonly: true });
  return JSON.stringify(database.query('SELECT * FROM idempotent_answers').all());
}

describe('an API key issued with an Idempotency-Key', () => {
  test('is returned again for the same request, and no second key is created', async () => {
    const key = makeKey();
    const [first, count, recorded] = [await issue({ key }), (await keys()).length, await entries()];
    const again = await issue({ key });
    expect(first.status).toBe(201);
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect(again.headers.get('location')).toBe(first.headers.get('location'));
    expect([first, again].map(({ headers }) => headers.get('idempotent-replayed'))).toEqual([null, 'true']);
    expect([(await keys()).length, await entries()]).toEqual([count, recorded]);
    const { key: secret } = again.body as { key: string };
    const asClient = await fetch(`${app.url}/v1/pets`, { headers: { Authorization: `Bearer ${secret}` } });
    expect(asClient.status).toBe(200);
  });

  test('is returned again to the same operator in a later session, even after a restart', async () => {
    const key = makeKey();
    const first = await issue({ key });
    await app.restart();
    const session = await signIn(app, token);
    const headers = { ...fromConsole(app), 'Idempotency-Key': key };
    const again = await callAdmin(app, 'POST', '/accounts/1/keys', {
      session,
      headers,
      body: { name: 'till' },
    });
    expect(again.text).toBe(first.text);
  });

  test('is not returned to another operator with the same Idempotency-Key', async () => {
    const key = makeKey();
    const first = await issue({ key });
    const others = await issue({ key, token: other.token });
    expect([others.status, others.headers.get('idempotent-replayed')]).toEqual([201, null]);
    expect((others.body as { key: string }).key).not.toBe((first.body as { key: string }).key);
  });

  test('is encrypted in the stored response, which does not contain the Idempotency-Key', async () => {
    const key = makeKey();
    const { key: secret } = (await issue({ key })).body as { key: string };
    expect(stored()).not.toContain(secret.slice(4, 36));
    expect(stored()).not.toContain(key);
    expect(stored()).toContain('sealed');
  });

  test('is returned again even after the issued key has expired', async () => {
    const key = makeKey();
    const body = { name: 'till', expiresAt: new Date(app.clock.now() + 60_000).toISOString() };
    const first = await issue({ key, body });
    app.clock.advance(60);
    expect(await issue({ key, body })).toMatchObject({ status: 201, text: first.text });
  });

  test('can be returned again for 24 hours', async () => {
    const key = makeKey();
    const first = await issue({ key });
    app.clock.advance(86_400);
    expect((await issue({ key })).text).toBe(first.text);
    app.clock.advance(1);
    expect((await issue({ key })).text).not.toBe(first.text);
  });
});

describe('an Idempotency-Key', () => {
  test('must have at least 32 characters, because the stored secret is encrypted with it', async () => {
    const { status, code, text } = await issue({ key: 'x'.repeat(31) });
    expect([status, code]).toEqual([400, 'invalid_parameter']);
    expect(text).toContain('at least 32 characters');
    expect((await issue({ key: makeKey().replaceAll('-', '') })).status).toBe(201);
  });

  test('can be reused after a rejected request', async () => {
    const key = makeKey();
    const pet = { name: 'Rex', categoryId: 1 };
    const { id } = (await post('/pets', { body: pet })).body as { id: number };
    // The next animal to be created, which does not exist yet.
    const order = { petId: id + 1 };
    expect((await post('/orders', { key, body: order })).status).toBe(400);
    await post('/pets', { body: pet });
    const placed = await post('/orders', { key, body: order });
    expect(placed.status).toBe(201);
    expect((await post('/orders', { key, body: order })).text).toBe(placed.text);
  });

  test('is accepted by every POST except those that issue a session or change nothing in the store', () => {
    const without = allAdminOperations.filter((each) => each.method === 'POST' && !isRepeatable(each));
    expect(without.map(({ operationId }) => operationId).sort()).toEqual([
      'createBackup',
      'createSession',
      'importPets',
      'previewImport',
      'stopImport',
      'testAccountWebhook',
      'verifyBackup',
    ]);
  });

  test.each([
    ['createAccount', '/accounts', { name: 'Shop', plan: 'pro' }],
    ['closeAccount', `/accounts/${account.id}/close`, undefined],
    ['reopenAccount', `/accounts/${account.id}/reopen`, undefined],
    ['createOperator', '/operators', { name: 'gina', role: 'viewer' }],
    ['createPet', '/pets', { name: 'Big', categoryId: 9_007_199_254_740_991 }],
  ])('ensures that a repeated %s is applied exactly once', async (_what, target, body) => {
    const key = makeKey();
    const first = await post(target, { key, body });
    const recorded = await entries();
    const again = await post(target, { key, body });
    expect([first.status < 300, again.status, again.text]).toEqual([true, first.status, first.text]);
    expect(await entries()).toBe(recorded);
  });

  test('is accepted for rotations, which return the same key or token again', async () => {
    const { id } = (await issue({})).body as { id: number };
    const made = await post('/operators', { body: { name: 'hugo', role: 'viewer' } });
    for (const target of [`/keys/${id}/rotate`, `/operators/${(made.body as { id: number }).id}/rotate`]) {
      const key = makeKey();
      const first = await post(target, { key });
      expect([first.status < 300, (await post(target, { key })).text]).toEqual([true, first.text]);
    }
  });
});

test('an encrypted secret can be decrypted only with the same operator, request and Idempotency-Key', () => {
  const options = { idempotencyKey: makeKey(), actor: 'operator:anna', request: 'aa', randomBytes };
  const sealed = new OperatorIdempotency(options).seal('ask_secret');
  expect(new OperatorIdempotency(options).open(sealed)).toBe('ask_secret');
  for (const change of [{ idempotencyKey: makeKey() }, { actor: 'operator:bob' }, { request: 'bb' }])
    expect(() => new OperatorIdempotency({ ...options, ...change }).open(sealed)).toThrow();
});
