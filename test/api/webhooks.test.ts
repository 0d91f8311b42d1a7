/**
 * Webhook behavior not covered by the random walk in `test/storage/every-operation.test.ts` or by
 * `every-mistake.test.ts`.
 */
import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import pino from 'pino';
import type { Scope } from '../../src/domain/scope.ts';
import { startAppForFile } from '../support/app.ts';
import { freshKey, isReplayed, under } from '../support/idempotency.ts';
import { type Buyer, buyerOf } from '../support/orders.ts';
import { faulty } from '../support/pets.ts';

/** The address that host names resolve to. */
let address = '1.1.1.1';
const logged: string[] = [];
const log = pino({ level: 'warn' }, { write: (line) => logged.push(line) });
const app = await startAppForFile({ WEBHOOK_ALLOWED_NETWORKS: '' }, log, async (host) =>
  Array(host === 'crowded.example' ? 65 : 1).fill(address),
);
const { storage } = app.operator;

interface Shown {
  readonly id: bigint;
  readonly types: readonly string[];
  readonly description?: string;
  readonly disabledReason?: string;
  readonly secret: string;
}

const bodyOf = (members: object) => ({ body: JSON.stringify(members) });
const url = 'https://shop.example/webhooks';
const create = (owner: Buyer, members: object = {}) =>
  owner.call('POST', '/webhooks', bodyOf({ url, ...members }));
const created = async (owner: Buyer, members: object = {}) => (await create(owner, members)).json as Shown;

function changeStore(statement: string, ...values: (string | number | bigint)[]): void {
  using database = new Database(app.config.databaseUrl.replace('sqlite:', ''));
  database.run('PRAGMA busy_timeout = 10000');
  database.run(statement, values);
}

describe("another account's webhook", () => {
  test('is not found by any operation and remains unchanged', async () => {
    const [owner, other] = [await buyerOf(app), await buyerOf(app)];
    const { id } = await created(owner);
    const before = await owner.call('GET', `/webhooks/${id}`);
    const calls = [
      ['GET', ''],
      ['PATCH', '', bodyOf({ enabled: false })],
      ['DELETE', ''],
      ['POST', '/rotate-secret'],
      ['GET', '/deliveries'],
    ] as const;
    for (const [method, end, options] of calls) {
      const answer = await other.call(method, `/webhooks/${id}${end}`, options);
      expect([method, answer.error.code]).toEqual([method, 'webhook_not_found']);
    }
    const after = await owner.call('GET', `/webhooks/${id}`);
    expect([after.text, after.header('ETag')]).toEqual([before.text, before.header('ETag')]);
  });

  test('does not appear in any list, even if its owner has just read the same page', async () => {
    const [owner, other] = [await buyerOf(app), await buyerOf(app)];
    const { id } = await created(owner);
    for (let round = 0; round < 2; round++) {
      expect((await owner.call('GET', '/webhooks')).json).toMatchObject([{ id }]);
      expect((await other.call('GET', '/webhooks')).json).toEqual([]);
    }
  });

  test('is not returned for an Idempotency-Key that its owner used', async () => {
    const [owner, other] = [await buyerOf(app), await buyerOf(app)];
    const options = { ...bodyOf({ url }), ...under(freshKey()) };
    const first = (await owner.call('POST', '/webhooks', options)).json as Shown;
    expect(((await other.call('POST', '/webhooks', options)).json as Shown).secret).not.toBe(first.secret);
  });
});

describe('the event types of a webhook', () => {
  const groups: [Scope[], string[]][] = [
    [[], ['webhook.*']],
    [['orders:read'], ['order.*', 'webhook.*']],
    [
      ['pets:read', 'orders:read'],
      ['pet.*', 'order.*', 'category.*', 'webhook.*'],
    ],
  ];
  test.each(groups)('default to all types that a key with scopes %p may read', async (scopes, types) => {
    const owner = await buyerOf(app, [...scopes, 'events:read', 'webhooks:write']);
    expect((await created(owner)).types).toEqual(types);
  });

  test('are rejected with a 403 that names the types and the missing scopes if the key may not read them', async () => {
    const owner = await buyerOf(app, ['events:read', 'webhooks:write']);
    const { id } = await created(owner);
    const members = bodyOf({ url, types: ['webhook.*', 'order.placed', 'category.*'] });
    for (const [method, target] of [
      ['POST', '/webhooks'],
      ['PATCH', `/webhooks/${id}`],
    ] as const) {
      const answer = await owner.call(method, target, members);
      expect(answer.error.code).toBe('insufficient_scope');
      for (const type of ['order.placed', 'category.created', 'orders:read', 'pets:read'])
        expect(answer.error.message).toContain(type);
      expect(answer.header('WWW-Authenticate')).toContain('scope="pets:read orders:read"');
    }
    const patched = await owner.call('PATCH', `/webhooks/${id}`, bodyOf({ description: 'Stock' }));
    expect((patched.json as Shown).types).toEqual(['webhook.*']);
  });

  test.each([[['pet.created', 'pets.*']], [['pet.*', 'Pet.*']], [['pet.*', 7]]])(
    'are rejected with 400 if one does not exist: %p',
    async (types) => {
      const answer = await create(await buyerOf(app), { types });
      expect([answer.error.code, faulty(answer)]).toEqual(['invalid_body', ['body:types.1']]);
    },
  );
});

describe('a webhook URL', () => {
  test.each([
    ['without a scheme', 'shop.example', 'must be an https URL'],
    ['of another scheme', 'ftp://shop.example/', 'must be an https URL'],
    ['with whitespace', 'https://shop.example/a b', 'must be an https URL'],
    ['with the port 0', 'https://shop.example:0/', 'must be an https URL'],
    ['of 2,049 characters', 'https://shop.example/'.padEnd(2_049, 'x'), 'at most 2048 characters'],
    ['with a password', 'https://anna:secret@shop.example/', 'user name or password'],
    ['with a fragment', 'https://shop.example/#top', 'fragment'],
    ['whose host has 65 addresses', 'https://crowded.example/', 'more than 64 addresses'],
  ])('%s is rejected with a 400', async (_what, wrong, message) => {
    const answer = await create(await buyerOf(app), { url: wrong });
    expect([answer.error.code, faulty(answer)]).toEqual(['invalid_body', ['body:url']]);
    expect(answer.error.message).toContain(message);
  });

  test('is rejected with 400 if it resolves to a private address, but a retry of an earlier request returns the original response', async () => {
    const owner = await buyerOf(app);
    const options = { ...bodyOf({ url }), ...under(freshKey()) };
    const first = await owner.call('POST', '/webhooks', options);
    address = '10.0.0.1';
    try {
      const { id } = first.json as Shown;
      for (const answer of [
        await create(owner),
        await owner.call('PATCH', `/webhooks/${id}`, bodyOf({ url })),
      ]) {
        expect([answer.error.code, faulty(answer)]).toEqual(['invalid_body', ['body:url']]);
        expect(answer.error.message).toContain('shop.example resolves to an address that is private');
        expect(answer.text).not.toContain('10.0.0.1');
      }
      const notice = 'rejected a webhook URL: shop.example resolves to 10.0.0.1, which is private';
      expect(logged.map((line) => JSON.parse(line).msg)).toEqual([notice, notice]);
      expect((await owner.call('PATCH', `/webhooks/${id}`, bodyOf({ enabled: false }))).status).toBe(200);
      expect((await owner.call('POST', '/webhooks', options)).text).toBe(first.text);
    } finally {
      address = '1.1.1.1';
    }
  });
});

describe('a disabled webhook', () => {
  test('receives no redelivered events until it is enabled', async () => {
    const owner = await buyerOf(app);
    const { id } = await created(owner);
    const enable = (enabled: boolean) => owner.call('PATCH', `/webhooks/${id}`, bodyOf({ enabled }));
    const redeliver = () => owner.call('POST', `/webhooks/${id}/redeliver`, bodyOf({ after: 0 }));
    await enable(false);
    expect((await redeliver()).error.code).toBe('webhook_disabled');
    await enable(true);
    expect((await redeliver()).status).toBe(202);
  });
});

describe('a webhook secret', () => {
  test('has 32 random bytes, and appears only in the response that creates it', async () => {
    const owner = await buyerOf(app);
    const first = await create(owner);
    const { id, secret } = first.json as Shown;
    expect(Buffer.from(/^whsec_([A-Za-z0-9+/]{43}=)$/.exec(secret)?.[1] ?? '', 'base64')).toHaveLength(32);
    expect((await created(owner)).secret).not.toBe(secret);
    const patch = await owner.call('PATCH', `/webhooks/${id}`, bodyOf({ description: 'Stock' }));
    const shown = [patch, await owner.call('GET', `/webhooks/${id}`), await owner.call('GET', '/webhooks')];
    for (const { text } of shown) expect(text).not.toContain('whsec_');
  });

  test('is not part of the entity tag', async () => {
    const owner = await buyerOf(app);
    const options = { ...bodyOf({ url }), ...under(freshKey()) };
    const first = await owner.call('POST', '/webhooks', options);
    const again = await owner.call('POST', '/webhooks', options);
    expect([again.text, isReplayed(again)]).toEqual([first.text, 'true']);
    const target = first.header('Location').replace('/v1', '');
    const read = await owner.call('GET', target);
    const rotated = await owner.call('POST', `${target}/rotate-secret`);
    for (const answer of [again, read, rotated]) expect(answer.header('ETag')).toBe(first.header('ETag'));
    const headers = { 'If-Match': first.header('ETag') };
    expect((await owner.call('DELETE', target, { headers })).status).toBe(204);
  });

  test('changes when it is rotated, and the old secret stays valid for 24 hours', async () => {
    const owner = await buyerOf(app);
    const { id, secret: former } = await created(owner);
    const { secret } = (await owner.call('POST', `/webhooks/${id}/rotate-secret`)).json as Shown;
    expect(secret).not.toBe(former);
    const formerSecretUntil = app.clock.now() + 86_400_000;
    expect(await storage.webhooks.find(id)).toMatchObject({
      secret,
      formerSecret: former,
      formerSecretUntil,
    });
  });
});

test('a webhook receives only events that occur after its creation', async () => {
  const owner = await buyerOf(app);
  await owner.addPet();
  const { id } = await created(owner);
  expect((await storage.webhooks.find(id))?.position).toBe((await storage.events.bounds()).last);
});

describe('updating a webhook', () => {
  test('removes the description if it is null, and has no effect with an empty body', async () => {
    const owner = await buyerOf(app);
    const { id } = await created(owner, { description: 'Stock' });
    const read = await owner.call('GET', `/webhooks/${id}`);
    expect((await owner.call('PATCH', `/webhooks/${id}`, bodyOf({}))).text).toBe(read.text);
    const patched = (await owner.call('PATCH', `/webhooks/${id}`, bodyOf({ description: null })))
      .json as Shown;
    expect(patched).not.toHaveProperty('description');
  });

  test('to enable it clears its disabledReason, and skips the events that occurred while it was disabled', async () => {
    const owner = await buyerOf(app);
    const { id } = await created(owner);
    changeStore(`UPDATE webhooks SET enabled = 0, disabled_reason = 'gone' WHERE id = ?`, id);
    const disabled = (await owner.call('GET', `/webhooks/${id}`)).json as Shown;
    expect(disabled).toMatchObject({ enabled: false, disabledReason: 'gone' });
    await owner.addPet();
    const { last } = await storage.events.bounds();
    const enabled = (await owner.call('PATCH', `/webhooks/${id}`, bodyOf({ enabled: true }))).json as Shown;
    expect(enabled).toMatchObject({ enabled: true });
    expect(enabled).not.toHaveProperty('disabledReason');
    expect((await storage.webhooks.find(id))?.position).toBe(last);
  });
});
