/** The lowest and highest int64, and NUL, in paths, queries and cursors of every operation, on every kind of store. */
import { afterAll, describe, expect, test } from 'bun:test';
import { bodyExamples } from '../../scripts/openapi/examples.ts';
import { allAdminOperations } from '../../src/contract/admin/operations.ts';
import { encodeCursor, encodeFilters } from '../../src/contract/cursor.ts';
import { int64Max, int64Min } from '../../src/contract/json.ts';
import type { Operation } from '../../src/contract/operation.ts';
import { callAdmin } from '../support/admin.ts';
import { type Desk, openDesk } from '../support/admin-answers.ts';
import { patientSettings } from '../support/cluster.ts';
import { testServers } from '../support/servers.ts';

const servers = await testServers();
const schema = await servers?.makeSchema();

const stores: Record<string, Desk> = {
  SQLite: await openDesk(),
  ...(servers &&
    schema && {
      'PostgreSQL and Redis': await openDesk({
        ...patientSettings,
        DATABASE_URL: schema.url,
        REDIS_URL: servers.redisUrl,
        REDIS_PREFIX: servers.makePrefix(),
      }),
    }),
};

afterAll(async () => {
  for (const desk of Object.values(stores)) await desk[Symbol.asyncDispose]();
  await schema?.[Symbol.asyncDispose]();
  await servers?.[Symbol.asyncDispose]();
});

/** Bodies of operations whose first example is not a valid request. */
const bodies: Readonly<Record<string, unknown>> = {
  updateAccount: { name: 'Seattle shop' },
  updateKey: { scopes: ['pets:read'] },
  rotateKey: {},
};

/** A valid body; undefined for operations without a body. */
function bodyFor(operation: Operation): unknown {
  if (operation.body === undefined) return undefined;
  return bodies[operation.operationId] ?? Object.values(bodyExamples(operation))[0]?.value;
}

const ids = [int64Min, int64Max].map(String);

describe.each(Object.entries(stores))('on %s', (_name, { app, operator: { token } }) => {
  /** Sends a request. Returns the status, and reports every server error. */
  const send = async (method: string, target: string, body?: unknown): Promise<number> => {
    const { status, text } = await callAdmin(app, method, target, { token, body });
    if (status >= 500) throw new Error(`${method} ${target} returned ${status}: ${text}`);
    return status;
  };

  test('no operation fails if an id in its path is the lowest or highest int64', async () => {
    const withIds = allAdminOperations.filter(({ params }) => params !== undefined);
    expect(withIds.length).toBeGreaterThan(20);
    for (const operation of withIds) {
      const { operationId, method, path } = operation;
      const body = bodyFor(operation);
      for (const id of ids) {
        const status = await send(method, path.replace(/\{\w+\}/g, id), body);
        expect([operationId, id, status]).not.toEqual([operationId, id, 400]);
      }
    }
  });

  test('no list fails if a value in its query is the lowest or highest int64, or contains NUL', async () => {
    const lists = allAdminOperations.filter(
      ({ method, query, success }) => method === 'GET' && query !== undefined && !success.stream,
    );
    expect(lists.length).toBeGreaterThan(20);
    for (const { path, query } of lists) {
      const target = path.replace(/\{\w+\}/g, '2');
      for (const name in query?.shape)
        for (const value of [...ids, '%00', 'a%00']) await send('GET', `${target}?${name}=${value}`);
    }
  });

  test('no list fails if it continues after the highest int64', async () => {
    const lists = allAdminOperations.filter(({ paginated, params }) => paginated && params === undefined);
    expect(lists.length).toBeGreaterThan(5);
    for (const { path } of lists) {
      const cursor = encodeCursor({ filters: encodeFilters(path, {}), after: int64Max });
      expect([path, await send('GET', `${path}?cursor=${cursor}`)]).toEqual([path, 200]);
    }
  });

  test('accounts are not listed after a name that contains NUL', async () => {
    const filters = encodeFilters('/accounts', { sort: 'name' });
    const statusAfter = (name: string) =>
      send('GET', `/accounts?sort=name&cursor=${encodeCursor({ filters, after: 1n, name })}`);
    expect([await statusAfter('a'), await statusAfter('a\0')]).toEqual([200, 400]);
  });

  test('text to search or filter by must not contain NUL', async () => {
    for (const target of [
      '/search?text',
      '/accounts?name',
      '/audit?actor',
      '/usage/failed-requests?requestId',
    ])
      expect([target, await send('GET', `${target}=a%00`)]).toEqual([target, 400]);
  });

  test('animals are listed from the lowest int64, in both orders', async () => {
    for (const query of ['order=asc', 'order=desc', `maxId=${int64Max}`])
      expect(await send('GET', `/pets?minId=${int64Min}&${query}`)).toBe(200);
  });

  test('the error for an id that is too large contains the id unchanged', async () => {
    const { text } = await callAdmin(app, 'GET', `/keys/${int64Max}`, { token });
    expect(text).toContain(`There is no key ${int64Max}.`);
  });

  test('a search for the highest int64 finds the category with this id', async () => {
    await send('PUT', `/categories/${int64Max}`, { name: 'Seals' });
    const { text } = await callAdmin(app, 'GET', `/search?text=${int64Max}`, { token });
    expect(text).toContain(`"kind":"category","id":${int64Max},"name":"Seals"`);
  });
});
