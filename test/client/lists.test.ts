import { expect, test } from 'bun:test';
import { AnimalStore, type Pet } from '../../client/src/index.ts';
import { startAppForFile } from '../support/app.ts';
import { addPets } from '../support/pets.ts';
import { rejectionOf } from '../support/rejection.ts';

// Clients use a different URL than the one in pagination links.
const app = await startAppForFile({ PUBLIC_URL: 'https://animals.example.com' });
const urls: string[] = [];
const store = new AnimalStore({ key: app.key, url: app.url, onRequest: ({ url }) => urls.push(url) });
const pets = await addPets(app, 205, 'available', 'sold');

test('iterating over a list reads all pages, with 100 items per page by default', async () => {
  urls.length = 0;
  const walked: Pet[] = [];
  for await (const pet of store.pets.list()) walked.push(pet);
  expect(walked).toEqual(pets);
  expect(urls).toHaveLength(3);
  expect(urls[0]).toBe(`${app.url}/v1/pets?limit=100`);
  expect(await store.pets.list({ limit: 90 }).toArray()).toEqual(pets);
});

test('the API key is sent only to the configured URL, even if a link points elsewhere', async () => {
  const links: (string | null)[] = [];
  const hosts = new Set<string>();
  for await (const { headers } of store.pets.list({ limit: 100 }).pages()) links.push(headers.get('link'));
  for (const url of urls) hosts.add(new URL(url).origin);
  expect(links[0]).toContain('<https://animals.example.com/v1/pets?');
  expect([...hosts]).toEqual([app.url]);
});

test('the filters of a list apply to every page', async () => {
  const sold = pets.filter(({ status }) => status === 'sold');
  expect(await store.pets.list({ status: 'sold', limit: 10 }).toArray()).toEqual(sold);
  const three = pets.slice(0, 3);
  expect(await store.pets.list({ ids: three.map(({ id }) => id), limit: 2 }).toArray()).toEqual(three);
});

test('listing an empty array of ids returns no animals and sends no request', async () => {
  urls.length = 0;
  expect(await store.pets.list({ ids: [] }).toArray()).toEqual([]);
  expect(urls).toEqual([]);
});

test('a misspelled filter is rejected', async () => {
  const typo = { stauts: 'sold' } as object;
  const one = { id: pets[7]?.id } as object;
  expect(await store.pets.list(one).toArray()).toEqual([pets[7] as Pet]);
  for (const list of [store.pets.list(typo), store.orders.list(typo), store.categories.list(typo)]) {
    expect(await rejectionOf(list.toArray())).toMatchObject({ code: 'invalid_parameter' });
  }
  expect(await rejectionOf(store.inventory.get(typo))).toMatchObject({ code: 'invalid_parameter' });
});

test('every page includes its headers, and the last page has no next cursor', async () => {
  const seen: [number, boolean, number | undefined][] = [];
  for await (const { data, nextCursor, rateLimit } of store.pets.list({ limit: 100 }).pages()) {
    seen.push([data.length, nextCursor === undefined, rateLimit?.minute.limit]);
  }
  expect(seen).toEqual([
    [100, false, 1_000_000],
    [100, false, 1_000_000],
    [5, true, 1_000_000],
  ]);
});

test('iteration can continue from the cursor of another iteration', async () => {
  const filter = { status: 'available', limit: 40 } as const;
  const first: Pet[] = [];
  let cursor: string | undefined;
  for await (const page of store.pets.list(filter).pages()) {
    first.push(...page.data);
    cursor = page.nextCursor;
    break;
  }
  const rest = await store.pets.list({ ...filter, cursor }).toArray();
  expect([...first, ...rest]).toEqual(pets.filter(({ status }) => status === 'available'));
});

test('a list can be iterated twice, and requests pages lazily', async () => {
  const list = store.pets.list({ limit: 100 });
  urls.length = 0;
  for await (const pet of list) if (pet.id === pets[0]?.id) break;
  expect(urls).toHaveLength(1);
  expect(await list.toArray()).toHaveLength(205);
});

test('a malformed link to the next page causes an error instead of an endless loop', async () => {
  const linkedTo = (link: string) =>
    new AnimalStore({
      key: app.key,
      url: app.url,
      fetch: async () => Response.json([], { headers: { link: `<${link}>; rel="next"` } }),
    });
  for (const link of ['http://[', '/v1/pets?limit=100', '', '%zz']) {
    const error = await rejectionOf(linkedTo(link).pets.list().toArray());
    expect(error).toMatchObject({ name: 'ServerError', code: 'unexpected_response' });
  }
});
