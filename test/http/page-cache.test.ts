import { expect, test } from 'bun:test';
import type { RequestContext } from '../../src/http/pipeline/context.ts';
import { handleRequest } from '../../src/http/pipeline/pipeline.ts';
import { ClientOperations } from '../../src/operations/client-operations.ts';
import { startAppForFile } from '../support/app.ts';
import { addPets } from '../support/pets.ts';
import { clientDependencies, incomingOf, requestContextOf } from '../support/request-context.ts';

const app = await startAppForFile();
await addPets(app, 3);

let made = 0;
/** The app's operations, with a count of their calls. */
class CountingOperations extends ClientOperations {
  override perform(
    ...request: Parameters<ClientOperations['perform']>
  ): ReturnType<ClientOperations['perform']> {
    made++;
    return super.perform(...request);
  }
}
const operations = new CountingOperations(clientDependencies(app));
const context: RequestContext = { ...requestContextOf(app), operations };

/** Requests a page as the server does. Returns the number of pages built for the request. */
async function makes(url: string): Promise<number> {
  const before = made;
  const incoming = incomingOf(url, { Authorization: `Bearer ${app.key}` });
  expect((await handleRequest(context, incoming)).status).toBe(200);
  return made - before;
}

test('a page is cached on the second request for the same target', async () => {
  const url = 'http://animals.example/v1/pets?limit=5';
  expect([await makes(url), await makes(url), await makes(url)]).toEqual([1, 1, 0]);
});

test('a page is cached only once, whatever the Host header', async () => {
  await makes('http://animals.example/v1/pets?limit=2');
  expect(await makes('http://animals.example/v1/pets?limit=2')).toBe(1);
  const others = ['a', 'ANIMALS.example', 'animals.example:8080', '192.0.2.1:3000', '[2001:db8::1]'];
  for (const host of others) expect(await makes(`http://${host}/v1/pets?limit=2`)).toBe(0);
  expect(await makes('https://animals.example/v1/pets?limit=2')).toBe(0);
});

test('different queries are cached as different pages', async () => {
  for (const query of ['', '?limit=3', '?limit=2&status=sold', '?status=sold&limit=2']) {
    expect(await makes(`http://animals.example/v1/pets${query}`)).toBe(1);
    expect(await makes(`http://other.example/v1/pets${query}`)).toBe(1);
    expect(await makes(`http://animals.example/v1/pets${query}`)).toBe(0);
  }
});

test('a page is rendered again after a change to the catalog', async () => {
  await makes('http://animals.example/v1/pets?limit=4');
  await makes('http://animals.example/v1/pets?limit=4');
  expect(await makes('http://animals.example/v1/pets?limit=4')).toBe(0);
  await addPets(app, 1);
  expect(await makes('http://animals.example/v1/pets?limit=4')).toBe(1);
});
