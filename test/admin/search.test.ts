import { afterAll, expect, test } from 'bun:test';
import { callAdmin } from '../support/admin.ts';
import { openDesk } from '../support/admin-answers.ts';

interface Found {
  readonly name: string | null;
  readonly kind: string;
  readonly id: number;
  readonly matched: string;
  readonly state: string | null;
}

const desk = await openDesk();
const { app, ask, done, operator } = desk;
afterAll(() => desk[Symbol.asyncDispose]());

const account = await done<{ id: number }>('POST', '/accounts', { name: 'Seattle shop', plan: 'pro' });
const { id: keyId, key } = await done<{ id: number; key: string }>('POST', `/accounts/${account.id}/keys`, {
  name: 'Harbour till',
});
const pet = await done<{ id: number }>('POST', '/pets', { name: 'Ozzy of Seattle', categoryId: 77 });
const order = await done<{ id: number }>('POST', '/orders', { petId: pet.id, reference: 'cart-1042' });
await done('PUT', '/categories/77', { name: 'Seals' });

async function found(text: string): Promise<readonly Found[]> {
  const target = `/search?text=${encodeURIComponent(text)}`;
  const { body } = await callAdmin(app, 'GET', target, { token: operator.token });
  return (body as { readonly results: Found[] }).results;
}

async function search(text: string): Promise<string[]> {
  return (await found(text)).map(({ kind, id, matched, state }) => `${kind} ${id} ${matched} ${state}`);
}

test('a search for part of a name finds accounts, keys, animals, categories and operators', async () => {
  expect(await search('SEATTLE')).toEqual([
    `account ${account.id} name open`,
    `animal ${pet.id} name pending`,
  ]);
  expect(await search('arbour')).toEqual([`key ${keyId} name live`]);
  expect(await search('eals')).toEqual(['category 77 name null']);
  expect(await search(operator.name)).toEqual([`operator ${operator.id} name admin`]);
});

test('a search for an id finds one object of each kind, or only the object of the specified kind', async () => {
  expect(await search('77')).toEqual(['category 77 id null']);
  expect(await search(`key:${keyId}`)).toEqual([`key ${keyId} id live`]);
  expect(await search(`order #${order.id}`)).toEqual([`order ${order.id} id placed`]);
  expect(await search(`pet:${pet.id}`)).toEqual([`animal ${pet.id} id pending`]);
  expect(await search('9223372036854775808')).toEqual([]);
  // `foo` is not an object type, so the search looks for names that contain the entire text.
  expect(await search(`foo:${keyId}`)).toEqual([]);
});

test('a search for the last four characters of a key finds the key', async () => {
  expect(await search(key.slice(-4))).toContain(`key ${keyId} lastFour live`);
});

test('a search for a prefix finds the orders whose reference begins with it', async () => {
  expect(await search('cart-10')).toEqual([`order ${order.id} reference placed`]);
});

test('a search for the request id of an import finds the import', async () => {
  const headers = { 'Content-Type': 'text/csv', 'X-Request-Id': 'import-of-monday' };
  const body = 'name,categoryId\nA,1\n';
  await ask('POST', '/pets/import?format=csv', body, { headers });
  expect(await search('import-of-monday')).toEqual([
    expect.stringMatching(/^import \d+ requestId imported$/),
  ]);
});

test('a search returns at most five objects of each kind, starting with those whose name begins with the text', async () => {
  for (const name of ['my cat', 'my cats', 'my catfish', 'our cat', 'her cat', 'cat', 'catty']) {
    await done('POST', '/accounts', { name, plan: 'free' });
  }
  expect((await found('cat')).map(({ name }) => name)).toEqual([
    'cat',
    'catty',
    'my cat',
    'my cats',
    'my catfish',
  ]);
});

test.each(['', '?text=', '?text=%20'])(
  'a search without text is rejected with 400: /search%s',
  async (query) => {
    expect((await ask('GET', `/search${query}`)).code).toBe('invalid_parameter');
  },
);

test('a search for the request id of a failed request finds its key', async () => {
  const headers = { Authorization: `Bearer ${key}`, 'X-Request-Id': 'failed-on-monday' };
  await fetch(`${app.app.url}/v1/pets?limit=0`, { headers });
  expect(await search('failed-on-monday')).toEqual([`request ${keyId} requestId invalid_parameter`]);
});
