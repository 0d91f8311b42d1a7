import { afterAll, expect, test } from 'bun:test';
import { callAdmin } from '../support/admin.ts';
import { openDesk } from '../support/admin-answers.ts';

interface Entry {
  readonly operation: string;
  readonly object: string;
  readonly after: { readonly name?: string };
}

const desk = await openDesk();
const { app, ask, done, list } = desk;
afterAll(() => desk[Symbol.asyncDispose]());

const actor = `operator:${desk.operator.name}`;
const query = `actor=${encodeURIComponent(actor)}`;
const int64 = '9223372036854775807';

const { id: accountId } = await done<{ id: number }>('POST', '/accounts', { name: 'A', plan: 'pro' });
const instants: string[] = [];
for (const name of ['B', 'C', 'D']) {
  app.clock.advance(60);
  instants.push(new Date(app.clock.now()).toISOString());
  await done('PATCH', `/accounts/${accountId}`, { name });
}
const pet = await done<{ id: number }>('POST', '/pets', { name: 'Ozzy', categoryId: 1 });
await callAdmin(app, 'PATCH', `/pets/${pet.id}`, {
  token: desk.operator.token,
  headers: { 'Content-Type': 'application/json' },
  body: `{"categoryId":${int64}}`,
});

const account = `account:${accountId}`;
const all = [
  `createAccount ${account} A`,
  ...['B', 'C', 'D'].map((name) => `updateAccount ${account} ${name}`),
  `createPet pet:${pet.id} Ozzy`,
  `updatePet pet:${pet.id} Ozzy`,
];
const toldBy = (entries: readonly Entry[]) =>
  entries.map(({ operation, object, after }) => `${operation} ${object} ${after.name}`);

test('audit entries are paginated, newest first', async () => {
  const { items, pages } = await list<Entry>(`/audit?${query}&limit=4`);
  expect(toldBy(items)).toEqual(all.toReversed());
  expect(pages).toEqual([4, 2]);
  expect(items.at(-1)).toMatchObject({ actor, before: null, after: { name: 'A', plan: 'pro' } } as object);
});

test("an account's audit entries include the entries for its keys, paginated, newest first", async () => {
  const { accounts, keys } = app.app.admin;
  const { id } = await accounts.create('shop', 'free');
  const { id: till } = await keys.create(id, 'till');
  await keys.create(accountId, 'of another');
  await accounts.update(id, { name: 'Shop' });
  await keys.revoke(till);
  const { items } = await list<Entry>(`/audit?account=${id}&limit=1`);
  expect(items.map(({ operation, object }) => `${operation} ${object}`)).toEqual([
    `revokeKey key:${till}`,
    `updateAccount account:${id}`,
    `createKey key:${till}`,
    `createAccount account:${id}`,
  ]);
  const { text } = await ask('GET', `/audit/export?account=${id}&object=key:${till}`);
  expect(text.match(/"operation":"\w+Key"/g)).toEqual(['"operation":"createKey"', '"operation":"revokeKey"']);
});

test('the audit export contains all entries, oldest first, with exact integers', async () => {
  const { headers, text } = await ask('GET', `/audit/export?${query}`);
  expect(headers.get('content-type')).toBe('application/x-ndjson');
  const lines = text.trimEnd().split('\n');
  expect(toldBy(lines.map((line) => JSON.parse(line) as Entry))).toEqual(all);
  const after = `{"id":${pet.id},"name":"Ozzy","categoryId":${int64},"status":"available"}`;
  expect(lines.at(-1)).toEndWith(`"after":${after}}`);
});
