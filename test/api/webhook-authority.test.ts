/**
 * A webhook acts after the request that configures it, so a key needs the scopes for everything that the webhook does.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import type { webhookOperations } from '../../src/contract/webhooks.ts';
import { leaseLevels } from '../../src/domain/delivery.ts';
import type { Scope } from '../../src/domain/scope.ts';
import { startTestApp } from '../support/app.ts';
import type { Answer, CallOptions } from '../support/call.ts';
import { freshKey, isReplayed, under } from '../support/idempotency.ts';
import { type Buyer, buyerOf, clientOf } from '../support/orders.ts';

const app = await startTestApp();
afterAll(() => app[Symbol.asyncDispose]());
const { storage } = app.operator;

type WebhookCall = (key: Pick<Buyer, 'call'>, id: bigint, options?: CallOptions) => Promise<Answer>;

const url = 'https://shop.example/webhooks';
const bodyOf = (members: object) => ({ body: JSON.stringify(members) });
const post =
  (end: string, members?: object): WebhookCall =>
  ({ call }, id, options) =>
    call('POST', `/webhooks/${id}${end}`, { ...(members && bodyOf(members)), ...options });
const patch =
  (members: object): WebhookCall =>
  ({ call }, id) =>
    call('PATCH', `/webhooks/${id}`, bodyOf(members));

/** Creates the webhook's deliveries of all events, and returns the latest. */
async function deliveryOf(webhookId: bigint): Promise<bigint> {
  const now = app.clock.now();
  const take = {
    now,
    leasedUntil: now,
    room: 0,
    held: {},
    heldOfFast: {},
    heldOfOthers: {},
    limits: leaseLevels[0],
    full: [],
    fast: [],
    waiting: [],
    perSecond: 10_000,
    round: 0,
  };
  // Without room, a round only creates deliveries, for the first webhooks after `after`.
  for (let isMore = true; isMore; ) {
    const request = { settled: [], lease: { ...take, after: webhookId - 1n } };
    ({ isMore } = await storage.write('dispatchDeliveries', request));
  }
  const [delivery] = await storage.deliveries.list(undefined, 1, { webhookId });
  return delivery?.id ?? 0n;
}

type Acting = Exclude<
  keyof typeof webhookOperations,
  'listWebhooks' | 'getWebhook' | 'deleteWebhook' | 'listDeliveries'
>;

/** Every operation that makes a webhook act. An operation missing here does not compile. */
const acting: Readonly<Record<Acting, Readonly<Record<string, WebhookCall>>>> = {
  createWebhook: {
    'of the same types': ({ call }) =>
      call('POST', '/webhooks', bodyOf({ url, types: ['order.*', 'category.created'] })),
  },
  updateWebhook: {
    'of the URL': patch({ url: 'https://other.example/' }),
    'to fewer types': patch({ types: ['webhook.*'] }),
    'of the description': patch({ description: 'Mine' }),
    'that also disables': patch({ enabled: false, url: 'https://other.example/' }),
  },
  rotateWebhookSecret: { 'without a body': post('/rotate-secret') },
  testWebhook: { 'without a body': post('/test') },
  redeliverEvents: { 'of all events': post('/redeliver', { after: 0 }) },
  redeliver: {
    'of one event': async (key, id, options) =>
      post(`/deliveries/${await deliveryOf(id)}/redeliver`)(key, id, options),
  },
};

const calls = Object.entries(acting).flatMap(([operation, all]) =>
  Object.entries(all).map(([what, send]) => [operation, what, send] as const),
);

const needed: readonly Scope[] = [
  ...(['pets:read', 'pets:create', 'orders:read', 'orders:write', 'events:read', 'webhooks:write'] as const),
];

/** An account with a webhook, and other keys of the account. */
async function start() {
  const owner = await buyerOf(app, needed);
  const create = bodyOf({ url, types: ['order.*', 'category.created'] });
  const { id } = (await owner.call('POST', '/webhooks', create)).json as { readonly id: bigint };
  const keyWith = async (scopes: readonly Scope[]) => {
    const { key } = await app.operator.keys.create(owner.account.id, 'other', undefined, scopes);
    return clientOf(app, key);
  };
  const keyWithout = (...absent: Scope[]) => keyWith(needed.filter((scope) => !absent.includes(scope)));
  return { owner, id, keyWith, keyWithout, stored: () => storage.webhooks.find(id) };
}

const cases = calls.flatMap(([operation, what, send]) =>
  [
    { missing: ['events:read'] },
    { missing: ['orders:read'] },
    { missing: ['pets:read'] },
    { missing: ['pets:read', 'orders:read', 'events:read'] },
  ].map(({ missing }) => [operation, what, missing as Scope[], send] as const),
);

test.each(cases)(
  '%s %s is rejected for a key without %p, changes nothing, and names the missing scopes',
  async (_operation, _what, missing, send) => {
    const { owner, id, keyWithout, stored } = await start();
    await owner.addPet();
    await deliveryOf(id);
    // No event remains that would change the webhook's position.
    expect((await stored())?.position).toBe((await storage.events.bounds()).last);
    const before = [await stored(), await storage.deliveries.list(undefined, 9, { webhookId: id })];
    const answer = await send(await keyWithout(...missing), id);
    expect([answer.status, answer.error.code]).toEqual([403, 'insufficient_scope']);
    for (const scope of missing) expect(answer.error.message).toContain(scope);
    expect(answer.header('WWW-Authenticate')).toEndWith(
      `error="insufficient_scope", scope="${missing.join(' ')}"`,
    );
    expect([await stored(), await storage.deliveries.list(undefined, 9, { webhookId: id })]).toEqual(before);
  },
);

test.each(calls)(
  '%s %s is accepted for a key with the scopes of the types',
  async (_operation, _what, send) => {
    const { id, keyWithout } = await start();
    const answer = await send(await keyWithout('pets:create'), id);
    expect(answer.status === 404 ? answer.error.code : answer.status).not.toBe(403);
  },
);

test("changing a webhook's event types requires the scopes of the new types, even if the former types required none", async () => {
  const { owner, keyWithout } = await start();
  const create = bodyOf({ url, types: ['webhook.*'] });
  const { id } = (await owner.call('POST', '/webhooks', create)).json as { readonly id: bigint };
  const key = await keyWithout('orders:read');
  expect((await patch({ types: ['order.placed'] })(key, id)).header('WWW-Authenticate')).toEndWith(
    'scope="orders:read"',
  );
  expect((await patch({ types: ['pet.*'] })(key, id)).status).toBe(200);
});

test('a delivery is not sent again if the webhook no longer selects its event type, and a key without the scope of the type gets 403', async () => {
  const { owner, id, keyWithout } = await start();
  await owner.order();
  const deliveryId = await deliveryOf(id);
  expect(await storage.deliveries.find(deliveryId)).toMatchObject({ type: 'order.placed' });
  expect((await patch({ types: ['pet.*'] })(owner, id)).status).toBe(200);
  const other = await keyWithout('orders:read');
  expect((await patch({ url: 'https://other.example/' })(other, id)).status).toBe(200);
  const again = post(`/deliveries/${deliveryId}/redeliver`);
  const refused = await again(other, id);
  expect([refused.status, refused.error.code]).toEqual([403, 'insufficient_scope']);
  expect(refused.header('WWW-Authenticate')).toEndWith('scope="orders:read"');
  expect((await again(owner, id)).error.code).toBe('event_type_not_selected');
  expect((await patch({ types: ['order.placed'] })(owner, id)).status).toBe(200);
  expect((await again(owner, id)).status).toBe(202);
});

test('webhooks:write alone suffices to read, disable and delete a webhook, but not to enable it again', async () => {
  const { id, keyWith } = await start();
  const key = await keyWith(['webhooks:write']);
  expect((await key.call('GET', '/webhooks')).json).toMatchObject([{ id }]);
  for (const end of ['', '/deliveries'])
    expect((await key.call('GET', `/webhooks/${id}${end}`)).status).toBe(200);
  expect((await patch({})(key, id)).status).toBe(200);
  expect((await patch({ enabled: false, url })(key, id)).json).toMatchObject({ enabled: false });
  expect((await patch({ enabled: true })(key, id)).error.code).toBe('insufficient_scope');
  expect((await key.call('DELETE', `/webhooks/${id}`)).status).toBe(204);
});

test('every insufficient_scope message names the scope', async () => {
  const { keyWith } = await start();
  const key = await keyWith(['pets:read']);
  for (const [target, scope] of [
    ['/orders', 'orders:read'],
    ['/events', 'events:read'],
    ['/webhooks', 'webhooks:write'],
  ] as const)
    expect((await key.call('GET', target)).error.message).toBe(`This API key needs the scope ${scope}.`);
});

describe('a repeated request whose stored response contains the secret', () => {
  test.each([
    [
      'creation',
      (key, _id, options) =>
        key.call('POST', '/webhooks', { ...bodyOf({ url, types: ['order.*'] }), ...options }),
    ],
    ['rotation', post('/rotate-secret')],
  ] as [string, WebhookCall][])('is not replayed to a key without the scopes: %s', async (_name, send) => {
    const { owner, id, keyWith, keyWithout } = await start();
    const once = under(freshKey());
    const first = await send(owner, id, once);
    expect(first.text).toContain('whsec_');
    const refused = await send(await keyWith(['webhooks:write']), id, once);
    expect([refused.error.code, refused.header('WWW-Authenticate')]).toEqual([
      'insufficient_scope',
      expect.stringContaining('orders:read'),
    ]);
    const again = await send(await keyWithout('pets:create'), id, once);
    expect([again.text, isReplayed(again)]).toEqual([first.text, 'true']);
  });

  test('is not replayed once the webhook has types that the key may not read', async () => {
    const { owner, id, keyWithout } = await start();
    const once = under(freshKey());
    await patch({ types: ['category.*'] })(owner, id);
    await post('/rotate-secret')(owner, id, once);
    const key = await keyWithout('orders:read');
    expect((await post('/rotate-secret')(key, id, once)).status).toBe(200);
    await patch({ types: ['order.*'] })(owner, id);
    expect((await post('/rotate-secret')(key, id, once)).error.code).toBe('insufficient_scope');
  });
});
