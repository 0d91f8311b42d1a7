import { afterAll, describe, expect, test } from 'bun:test';
import { nextOf, openDesk } from '../support/admin-answers.ts';

interface Account {
  readonly id: number;
  readonly name: string;
  readonly plan: string;
  readonly perMinute: number;
  readonly perDay: number;
  readonly createdAt: string;
  readonly closedAt: string | null;
  readonly note: string | null;
}

const desk = await openDesk();
const { app, ask, done, list } = desk;
afterAll(() => desk[Symbol.asyncDispose]());

const create = (name: string, plan = 'pro', more = {}) =>
  done<Account>('POST', '/accounts', { name, plan, ...more });
const mistakesIn = ({ body }: { body: unknown }) =>
  (body as { details?: { in: string; name: string }[] }).details?.map((one) => `${one.in}:${one.name}`);

test('an account can be created, read and changed, and each response shows its current state', async () => {
  const made = await create('Seattle shop');
  expect(made).toEqual({
    id: made.id,
    name: 'Seattle shop',
    plan: 'pro',
    perMinute: 300,
    perDay: 10_000,
    createdAt: new Date(app.clock.now()).toISOString(),
    closedAt: null,
    note: null,
  });
  const renamed = await done<Account>('PATCH', `/accounts/${made.id}`, { name: 'Portland shop' });
  expect(renamed).toEqual({ ...made, name: 'Portland shop' });
  expect(await done<Account>('GET', `/accounts/${made.id}`)).toEqual(renamed);
  const bigger = await done<Account>('PATCH', `/accounts/${made.id}`, { plan: 'business' });
  expect(bigger).toEqual({ ...renamed, plan: 'business', perMinute: 1_000, perDay: 100_000 });
});

test('a note can be set and removed, is kept when the account is renamed, and is recorded in the audit log', async () => {
  const { id } = await create('Noted');
  const note = 'Wants Business.\nAnswer by Friday 🐕.';
  const change = (body: object) => ask('PATCH', `/accounts/${id}`, body);
  expect((await change({ note })).body).toMatchObject({ note });
  expect((await change({ name: 'Renamed' })).body).toMatchObject({ name: 'Renamed', note });
  const [entry] = (await list<{ before: object; after: object }>(`/audit?object=account:${id}`)).items.slice(
    1,
  );
  expect(entry).toMatchObject({ before: { note: null }, after: { note } });
  expect((await change({ note: 'x'.repeat(2_000) })).status).toBe(200);
  for (const wrong of ['x'.repeat(2_001), 'a\tb', '\ud800', 7]) {
    expect(mistakesIn(await change({ note: wrong }))).toEqual(['body:note']);
  }
  for (const none of ['', ' \n', null]) {
    await change({ note });
    expect((await change({ note: none })).body).toMatchObject({ note: null });
  }
});

test("limits that are set without a plan apply to the account's current plan", async () => {
  const { id } = await create('Partner', 'enterprise', { perMinute: 10, perDay: 100 });
  const changed = await done<Account>('PATCH', `/accounts/${id}`, { perDay: 200 });
  expect(changed).toMatchObject({ plan: 'enterprise', perMinute: 10, perDay: 200 });
});

test('an invalid plan is rejected with an invalid_body error that names the field', async () => {
  const { id } = await create('Fixed');
  for (const [method, target, body, field] of [
    ['POST', '/accounts', { name: 'A', plan: 'enterprise' }, 'perMinute'],
    ['POST', '/accounts', { name: 'A', plan: 'enterprise', perMinute: 9, perDay: 8 }, 'perMinute'],
    ['POST', '/accounts', { name: 'A', plan: 'free', perDay: 8 }, 'perDay'],
    ['POST', '/accounts', { name: 'A', plan: 'free', perMinute: 8 }, 'perMinute'],
    ['PATCH', `/accounts/${id}`, { plan: 'enterprise', perMinute: 5 }, 'perDay'],
    ['PATCH', `/accounts/${id}`, { perMinute: 5 }, 'perMinute'],
    ['PATCH', `/accounts/${id}`, { plan: 'gold' }, 'plan'],
  ] as const) {
    const answer = await ask(method, target, body);
    expect([answer.status, answer.code, mistakesIn(answer)]).toEqual([
      400,
      'invalid_body',
      [`body:${field}`],
    ]);
  }
  expect(await done<Account>('GET', `/accounts/${id}`)).toMatchObject({ plan: 'pro' });
});

test('the keys of a closed account are rejected from the next request on, until the account is reopened', async () => {
  const { account, key } = await app.tenant('pro');
  const status = async () => (await app.call('GET', '/pets', { key })).status;
  expect(await status()).toBe(200);
  const closed = await done<Account>('POST', `/accounts/${account.id}/close`);
  expect(closed.closedAt).toBe(new Date(app.clock.now()).toISOString());
  expect(await status()).toBe(401);
  app.clock.advance(60);
  expect(await done<Account>('POST', `/accounts/${account.id}/close`)).toEqual(closed);
  expect(await done<Account>('POST', `/accounts/${account.id}/reopen`)).toMatchObject({ closedAt: null });
  expect(await status()).toBe(200);
});

test('reading the limits returns the usage in both windows, and does not count as a request', async () => {
  const { account, key } = await app.tenant('pro');
  const limits = () => done<object>('GET', `/accounts/${account.id}/limits`);
  expect(await limits()).toEqual({
    minute: { limit: 300, used: 0, resetAt: null },
    day: { limit: 10_000, used: 0, resetAt: null },
  });
  for (let sent = 0; sent < 3; sent++) await app.call('GET', '/pets', { key });
  const inSeconds = (seconds: number) => new Date(app.clock.now() + seconds * 1_000).toISOString();
  const used = {
    minute: { limit: 300, used: 3, resetAt: inSeconds(60) },
    day: { limit: 10_000, used: 3, resetAt: inSeconds(86_400) },
  };
  expect(await limits()).toEqual(used);
  expect(await limits()).toEqual(used);
});

test.each(['', '/limits', '/usage'])(
  'GET /accounts/9999%s returns 404 for an unknown account',
  async (rest) => {
    for (const id of ['9999', '9223372036854775807', 'x']) {
      const { status, code } = await ask('GET', `/accounts/${id}${rest}`);
      expect([status, code]).toEqual([404, 'account_not_found']);
    }
  },
);

describe('a list of accounts', () => {
  test('continues at the same position even if the last account of a page has been renamed', async () => {
    for (const name of ['Page a', 'Page b', 'Page c']) await create(name);
    const first = await ask('GET', '/accounts?name=page&limit=1');
    const [{ id }] = first.body as [Account];
    await done<Account>('PATCH', `/accounts/${id}`, { name: 'Zebra' });
    const second = await ask('GET', nextOf(first) ?? '');
    expect((second.body as Account[]).map(({ name }) => name)).toEqual(['Page b']);
  });

  test('cannot be continued with a cursor issued for other filters or another list', async () => {
    const cursorOf = async (target: string) => {
      const next = nextOf(await ask('GET', target));
      return new URLSearchParams(next?.split('?')[1]).get('cursor') ?? expect.unreachable();
    };
    for (const name of ['A', 'B'])
      await app.call('POST', '/pets', { body: JSON.stringify({ name, categoryId: 1 }) });
    for (const name of ['Mia 1', 'Mia 2']) await create(name);
    const byId = await cursorOf('/accounts?limit=1');
    const byName = await cursorOf('/accounts?limit=1&name=m');
    const ofAudit = await cursorOf('/audit?limit=1');
    const ofPets = await cursorOf('/pets?limit=1');
    for (const target of [
      `/accounts?name=m&cursor=${byId}`,
      `/accounts?cursor=${byName}`,
      `/accounts?state=open&cursor=${byId}`,
      `/keys?cursor=${byId}`,
      `/audit?cursor=${byId}`,
      `/accounts?cursor=${ofAudit}`,
      `/accounts?cursor=${ofPets}`,
      `/pets?cursor=${byId}`,
      `/orders?cursor=${ofPets}`,
      `/categories?cursor=${ofPets}`,
    ]) {
      const answer = await ask('GET', target);
      expect([target, answer.status, answer.code]).toEqual([target, 400, 'invalid_cursor']);
    }
  });
});
