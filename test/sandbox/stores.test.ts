/** Isolated stores of a sandbox. */
import { afterAll, describe, expect, test } from 'bun:test';
import { AnimalStore } from '../../client/src/index.ts';
import type { RequestEntry } from '../../sandbox/requests.ts';
import { maxStores, type StoreEntry, Stores } from '../../sandbox/stores.ts';
import type { ApiError } from '../../src/contract/api-error.ts';
import { rejectionOf } from '../support/rejection.ts';
import { startTestSandbox } from '../support/sandbox.ts';

const sandbox = await startTestSandbox();
afterAll(() => sandbox[Symbol.asyncDispose]());

const clientOf = ({ url, accounts }: Pick<StoreEntry, 'url' | 'accounts'>) =>
  new AnimalStore({ url, key: accounts[0]?.key, maxRetries: 0 });
const ozzy = { name: 'Ozzy', categoryId: 1n };

test('an isolated store has separate animals, limits, faults, clock and requests', async () => {
  const one = await sandbox.steered<StoreEntry>('POST', '/stores');
  const other = await sandbox.steered<StoreEntry>('POST', '/stores');
  const steer = (path: string, body?: object) =>
    fetch(`${one.url}/sandbox${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body ?? {}),
    });
  await clientOf(one).pets.create(ozzy);
  await steer('/faults', { faults: 'status=503' });
  await steer('/clock', { advanceSeconds: 3_600 });
  expect(await rejectionOf(clientOf(one).inventory.get())).toMatchObject({ status: 503 });
  for (const place of [other, sandbox]) {
    const { data, rateLimit } = await clientOf(place).inventory.get().withResponse();
    expect(data).toMatchObject({ available: 0 });
    expect(rateLimit?.minute.remaining).toBe(59);
  }
  expect(await sandbox.steered<{ advancedSeconds: number }>('GET', '/clock')).toMatchObject({
    advancedSeconds: 0,
  });
  const requests = (await (await fetch(`${other.url}/sandbox/requests`)).json()) as RequestEntry[];
  expect(requests.map(({ operation }) => operation)).toEqual(['getInventory']);
  // An isolated store cannot contain other stores.
  expect((await steer('/stores')).status).toBe(404);
});

test('removing an unknown or already removed store returns 404', async () => {
  const { id, url } = await sandbox.steered<StoreEntry>('POST', '/stores');
  expect(await sandbox.steered<StoreEntry[]>('GET', '/stores')).toContainEqual(
    expect.objectContaining({ id, url }),
  );
  await sandbox.steered('DELETE', `/stores/${id}`);
  expect(await rejectionOf(fetch(`${url}/livez`))).toBeInstanceOf(Error);
  expect((await sandbox.steer('DELETE', `/stores/${id}`)).status).toBe(404);
});

describe('the number of isolated stores', () => {
  /** `Stores` with fake stores, and a clock controlled by the test. */
  function countedStores() {
    const removed: string[] = [];
    const time = { ms: 0 };
    const uses: (() => void)[] = [];
    const stores = new Stores(
      async (onRequest) => {
        const url = `http://127.0.0.1:${uses.push(onRequest)}`;
        const dispose = async () => void removed.push(url);
        return { url, accounts: [], [Symbol.asyncDispose]: dispose };
      },
      () => time.ms,
    );
    return { stores, removed, time, uses };
  }

  test('is limited, and includes stores that are being opened', async () => {
    const { stores, removed } = countedStores();
    await Promise.all(Array.from({ length: maxStores }, () => stores.create()));
    expect(((await rejectionOf(stores.create())) as ApiError).code).toBe('service_unavailable');
    await stores.remove(1);
    await stores.create();
    await stores[Symbol.asyncDispose]();
    expect(removed).toHaveLength(maxStores + 1);
  });

  test('decreases when stores have received no requests for ten minutes', async () => {
    const { stores, removed, time, uses } = countedStores();
    await stores.create();
    await stores.create();
    time.ms = 599_000;
    uses[1]?.();
    await stores.removeIdle();
    expect(removed).toEqual([]);
    time.ms = 600_000;
    await stores.removeIdle();
    expect(removed).toEqual(['http://127.0.0.1:1']);
    await stores[Symbol.asyncDispose]();
  });
});
