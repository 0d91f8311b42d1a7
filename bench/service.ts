/** Fills stores with the service's operations, and starts the service as `npm start` does. */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import packageJson from '../package.json' with { type: 'json' };
import { type AdminServices, openAdminServices } from '../src/app/app.ts';
import { readConfig } from '../src/config.ts';
import { scopes } from '../src/domain/scope.ts';
import { animals } from './animals.ts';
import { createCallerKeys, unlimited } from './callers.ts';
import type { Addressing, Contender, Ordering } from './contender.ts';
import { features } from './features.ts';
import { freePort, type ServerProcess, startServer } from './server-process.ts';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));

/** Quota of one request per minute. Additional requests get 429. */
const exhausted = { perMinute: 1, perDay: 1_000_000 };

export const listTarget = '/v1/pets?limit=20&status=available';

export function pageTarget(minId: number, isAvailable: boolean): string {
  return `/v1/pets?limit=20${isAvailable ? '&status=available' : ''}&minId=${minId}`;
}

/** Settings that locate the store. Several instances can use the same store. */
export type StoreSettings = Readonly<Record<string, string>> & { readonly DATABASE_URL: string };

export function embeddedStore(folder: string, name: string): StoreSettings {
  return { DATABASE_URL: `sqlite:${join(folder, `${name}.db`)}` };
}

/** Fills an empty store with animals. */
export async function fill(store: StoreSettings, count: number): Promise<void> {
  await using admin = await openAdminServices(readConfig(store), undefined, { create: true });
  for (const group of animals(count)) await admin.storage.write('commitImport', { now: 0, pets: group });
}

/** Creates accounts with one key each, and returns the keys. */
export async function issueKeys(store: StoreSettings, count: number, quota = unlimited): Promise<string[]> {
  await using admin = await openAdminServices(readConfig(store));
  const keys: string[] = [];
  for (let made = 0; made < count; made++) keys.push(await issueKey(admin, `bench ${made + 1}`, quota));
  return keys;
}

async function issueKey(
  { accounts, keys }: AdminServices,
  name: string,
  quota: typeof unlimited,
): Promise<string> {
  const account = await accounts.create(name, 'enterprise', quota);
  return (await keys.create(account.id, name, undefined, scopes)).key;
}

/** Options for an instance. */
interface SpecialKeys {
  /** Command prefix that runs the service under another program, such as a tracer. */
  readonly under?: readonly string[];
  readonly settings?: Readonly<Record<string, string>>;
}

/** Starts an instance of the service on a store. Settings not given here use their defaults. */
export async function startService(
  store: StoreSettings,
  key: string,
  { under = [], settings = {} }: SpecialKeys = {},
): Promise<ServerProcess> {
  const port = await freePort();
  return startServer('animal-store', port, {
    command: [...under, process.execPath, main, 'serve'],
    environment: {
      ...store,
      ...settings,
      HOST: '127.0.0.1',
      PORT: String(port),
      DRAIN_SECONDS: '0',
      LOG_LEVEL: 'warn',
    },
    probe: { target: listTarget, key },
  });
}

/** Returns a function that creates accounts in a store for each run. */
export function callersOn(store: StoreSettings): NonNullable<Addressing['callers']> {
  return async (who, seconds) => {
    await using admin = await openAdminServices(readConfig(store));
    return await createCallerKeys(admin, who, seconds);
  };
}

interface ServiceOptions {
  readonly name: string;
  readonly title: string;
  /** An empty store, which `start` fills with animals. */
  readonly store: StoreSettings;
  readonly animals: number;
  /** Number of runs that measure 429 responses. Each of these runs gets a new account without strikes. */
  readonly refusals: number;
}

/** Returns the requests in the service's format, with the given key. */
export function createAddressing(key: string): Addressing {
  return {
    list: { target: listTarget, key },
    page: (minId, isAvailable) => ({ target: pageTarget(minId, isAvailable), key }),
    petInList: (id) => ({ target: `/v1/pets?id=${id}`, key }),
    pet: (id) => ({ target: `/v1/pets/${id}`, key }),
    create: { target: '/v1/pets', key },
    update: (id) => ({ target: `/v1/pets/${id}`, key }),
  };
}

/** Returns the service as a contender on a separate store. */
export function serviceContender({ name, title, store, animals, refusals }: ServiceOptions): Contender {
  return {
    name,
    title: `${title} ${packageJson.version} (Bun ${Bun.version})`,
    role: 'service',
    runtime: 'bun',
    does: features,
    async start() {
      await fill(store, animals);
      const [key = '', bannedKey = ''] = [
        ...(await issueKeys(store, 1)),
        ...(await issueKeys(store, 1, exhausted)),
      ];
      const refusedKeys = await issueKeys(store, refusals, exhausted);
      const server = await startService(store, key);
      const addressing = {
        ...createAddressing(key),
        callers: callersOn(store),
        order: orderingOn(store, key),
        refused: () => ({ target: listTarget, key: refusedKeys.pop() ?? bannedKey }),
        banned: { target: listTarget, key: bannedKey },
      };
      return { server, addressing };
    },
  };
}

/** Number of animals or orders to read at once. */
const pageLength = 5_000;

/** Places orders with a key. Each animal can be ordered once, so each run first cancels the previous orders. */
function orderingOn(store: StoreSettings, key: string): Ordering {
  return {
    target: '/v1/orders',
    key,
    async orderable() {
      await using admin = await openAdminServices(readConfig(store));
      return await makeAnimalsOrderable(admin);
    },
  };
}

async function cancelOrders({ storage }: AdminServices): Promise<void> {
  for (;;) {
    const placed = await storage.orders.list(0n, pageLength, { status: 'placed' });
    if (placed.length === 0) return;
    const now = Date.now();
    const cancel = (orderId: bigint) =>
      storage.write('cancelOrder', { params: { orderId }, preconditions: {}, now });
    await Promise.all(placed.map(({ id }) => cancel(id)));
  }
}

async function availableIds({ storage }: AdminServices, limit = Number.POSITIVE_INFINITY): Promise<bigint[]> {
  const ids: bigint[] = [];
  for (;;) {
    const page = await storage.pets.list(ids.at(-1) ?? 0n, pageLength, { status: 'available' });
    ids.push(...page.map(({ id }) => id));
    if (page.length < pageLength || ids.length >= limit) return ids.slice(0, limit);
  }
}

/** Cancels the orders of the last run, and returns the ids of available animals, at most `limit`. */
export async function makeAnimalsOrderable(admin: AdminServices, limit?: number): Promise<bigint[]> {
  await cancelOrders(admin);
  return await availableIds(admin, limit);
}
