import { afterAll, beforeAll, expect, test } from 'bun:test';
import { newWorkplace, type Workplace } from '../support/cli.ts';
import type { Service } from '../support/process.ts';

let place: Workplace;
let service: Service;
beforeAll(async () => {
  place = await newWorkplace({ store: false });
  service = await place.serve();
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await place[Symbol.asyncDispose]();
});

interface Issued {
  readonly id: number;
  readonly key: string;
  readonly scopes: readonly string[];
}

const all = ['pets:read', 'pets:create', 'pets:write', 'orders:read', 'orders:write'];

const create = (...args: string[]) => place.json<Issued>('keys', 'create', '--plan', 'free', ...args);

const scopesOf = async (id: number) =>
  (await place.json<Issued[]>('keys', 'list')).find((key) => key.id === id)?.scopes;

/** The status of a request to the running service. */
async function ask(key: string, method: string, path: string, body?: string): Promise<number> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const response = await fetch(`${service.url}/v1${path}`, {
    method,
    headers,
    ...(body === undefined ? {} : { body }),
  });
  await response.text();
  return response.status;
}

const placeOrder = (key: string) => ask(key, 'POST', '/orders', '{"petId":404}');

test('the first key of a new store may do everything', async () => {
  const key = service.firstKey ?? '';
  expect(await scopesOf(1)).toEqual(all);
  expect(await placeOrder(key)).toBe(400);
  expect(await ask(key, 'DELETE', '/pets/404')).toBe(404);
});

test('a key made without --scopes may read and add animals, and the output says how to give it more', async () => {
  const { id, key, scopes } = await create();
  expect(scopes).toEqual(['pets:read', 'pets:create']);
  expect(await ask(key, 'POST', '/pets', '{"name":"Ozzy","categoryId":1}')).toBe(201);
  expect(await ask(key, 'GET', '/inventory')).toBe(200);
  expect(await ask(key, 'DELETE', '/pets/404')).toBe(403);
  expect(await placeOrder(key)).toBe(403);
  expect(await scopesOf(id)).toEqual(scopes);
  const { stdout } = await place.run(['keys', 'create', '--plan', 'free']);
  expect(stdout).toMatch(
    /\nScopes: pets:read, pets:create\.\nIt may only read and add animals\. .*--scopes, or run:\n {2}animal-store keys set-scopes \d+ pets:read,orders:write \(or: all\)\n$/,
  );
});

test('--scopes gives exactly what it names, in any order; all is all of them', async () => {
  const { key, scopes } = await create('--scopes', 'orders:write,pets:read');
  expect(scopes).toEqual(['pets:read', 'orders:write']);
  expect(await placeOrder(key)).toBe(400);
  expect(await ask(key, 'GET', '/orders')).toBe(403);
  expect(await ask(key, 'POST', '/pets', '{"name":"Ozzy","categoryId":1}')).toBe(403);
  expect((await create('--scopes', 'all')).scopes).toEqual(all);
});

test('set-scopes takes effect on the next request, whether it gives or takes', async () => {
  const { id, key } = await create();
  expect(await placeOrder(key)).toBe(403);
  expect(await place.json<object>('keys', 'set-scopes', String(id), 'orders:write')).toEqual({
    id,
    scopes: ['orders:write'],
  });
  expect(await placeOrder(key)).toBe(400);
  expect(await ask(key, 'GET', '/pets')).toBe(403);
  const said = await place.run(['keys', 'set-scopes', String(id), 'pets:read']);
  expect(said).toMatchObject({ exitCode: 0, stdout: `Key ${id} now has the scopes pets:read.\n` });
  expect(await placeOrder(key)).toBe(403);
  expect(await ask(key, 'GET', '/pets')).toBe(200);
});

test('a rotated key keeps its scopes', async () => {
  const { id } = await create('--scopes', 'pets:read,orders:read');
  const successor = await place.json<Issued>('keys', 'rotate', String(id));
  expect(successor.scopes).toEqual(['pets:read', 'orders:read']);
  expect(await scopesOf(successor.id)).toEqual(successor.scopes);
});

test('keys list shows the scopes', async () => {
  const { id } = await create('--scopes', 'orders:read');
  const { stdout } = await place.run(['keys', 'list']);
  expect(stdout).toMatch(/^1 .* live +\S+ +\d+ +all$/m);
  expect(stdout).toMatch(new RegExp(`^${id} .* live +never +0 +orders:read$`, 'm'));
});

test.concurrent.each(['', 'pets', 'pets:read,', 'pets:read orders:read', 'ALL', 'all,pets:read'])(
  '"%s" is no list of scopes, and the message has those there are',
  async (scopes) => {
    const stderr = await place.failure(2, 'keys', 'create', '--plan', 'free', '--scopes', scopes);
    expect(stderr).toContain(`Scopes: ${all.join(', ')}.`);
  },
);

test('an unknown key has no scopes to set', async () => {
  const { exitCode, stderr } = await place.run(['keys', 'set-scopes', '999', 'all']);
  expect(exitCode).toBe(1);
  expect(stderr).toBe('animal-store: There is no key 999. For a list, run "animal-store keys list".\n');
});
