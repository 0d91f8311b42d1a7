/** Creates the data for the screenshots: accounts, keys, animals, orders, operators, and a month of requests. */
import { adminBasePath } from '../../src/contract/admin/operations.ts';
import type { TestConsole } from '../../test/support/console.ts';
import {
  addDeliveries,
  addWebhook,
  failedDelivery,
  pendingDelivery,
  succeededDelivery,
} from '../../test/support/webhooks.ts';
import type { ShopKeys } from './clients.ts';
import { insertPastRequests } from './history.ts';

export interface Shop {
  /** Token of the operator who takes the screenshots. */
  readonly token: string;
  readonly keys: ShopKeys;
}

/** Sends a request to the admin API. The type of the response is not verified. */
type Send = <Answer = { readonly id: number }>(
  method: string,
  path: string,
  body?: unknown,
) => Promise<Answer>;

export async function openShop(console: TestConsole): Promise<Shop> {
  const token = await console.addOperator('anna', 'admin');
  const send = sender(console.url, token);
  await stock(send);
  const keys = await accounts(send);
  await operators(send);
  await orders(send);
  await insertPastRequests(console);
  await webhooks(console);
  await send('POST', '/backups');
  return { token, keys };
}

function sender(url: string, token: string): Send {
  return async (method, path, body) => {
    const isText = typeof body === 'string';
    const response = await fetch(`${url}${adminBasePath}${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'Content-Type': isText ? 'text/csv' : 'application/json' }),
      },
      ...(body !== undefined && { body: isText ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} responded with ${response.status}: ${text}`);
    return JSON.parse(text === '' ? 'null' : text);
  };
}

const names = [
  'Ozzy',
  'Luna',
  'Bella',
  'Charlie',
  'Lucy',
  'Cooper',
  'Max',
  'Bailey',
  'Daisy',
  'Oliver',
  'Milo',
];
const categories = ['Dogs', 'Cats', 'Guinea pigs', 'Rabbits', 'Goats'];
const animals = 4_200;

async function stock(send: Send): Promise<void> {
  for (const [index, name] of categories.entries()) await send('PUT', `/categories/${index + 1}`, { name });
  const lines = Array.from({ length: animals }, (_, n) => {
    const status = n % 9 === 4 ? 'pending' : n % 4 === 3 ? 'sold' : 'available';
    return `${names[(n * 7) % names.length]},${((n * 3) % categories.length) + 1},${status}`;
  });
  await send('POST', '/pets/import?format=csv', `name,categoryId,status\n${lines.join('\n')}\n`);
}

const allScopes = ['pets:read', 'pets:create', 'pets:write', 'orders:read', 'orders:write'];

async function accounts(send: Send): Promise<ShopKeys> {
  const issue = async (account: number, name: string, scopes: readonly string[]) =>
    (await send<{ readonly key: string }>('POST', `/accounts/${account}/keys`, { name, scopes })).key;
  const create = async (name: string, plan: string, quota = {}) =>
    (await send('POST', '/accounts', { name, plan, ...quota })).id;

  const flagship = await create('Seattle shop', 'pro');
  const website = await issue(flagship, 'website', ['pets:read', 'orders:read', 'orders:write']);
  const stockKey = await issue(flagship, 'stock feed', allScopes);
  const trial = await send('POST', `/accounts/${flagship}/keys`, { name: 'trial', scopes: ['pets:read'] });
  await send('POST', `/keys/${trial.id}/revoke`);
  const portland = await create('Portland shop', 'business');
  const tablet = await issue(portland, 'tablet', ['pets:read']);
  const hobby = await create('Price comparison script', 'free');
  const script = await issue(hobby, 'script', ['pets:read']);
  await create('Warehouse', 'enterprise', { perMinute: 5_000, perDay: 2_000_000 });
  const closed = await create('Tacoma outlet', 'free');
  await send('POST', `/accounts/${closed}/close`);
  await send('PATCH', `/accounts/${flagship}`, {
    name: 'Seattle flagship',
    plan: 'enterprise',
    perMinute: 12_000,
    perDay: 200_000,
  });
  return { website, stock: stockKey, tablet, script };
}

async function operators(send: Send): Promise<void> {
  await send('POST', '/operators', { name: 'dashboard', role: 'viewer' });
  const { id } = await send('POST', '/operators', { name: 'ben', role: 'admin' });
  await send('POST', `/operators/${id}/revoke`);
}

async function orders(send: Send): Promise<void> {
  const steps = [[], ['approve'], ['approve', 'deliver'], ['cancel'], ['approve', 'deliver', 'return']];
  for (let turn = 0; turn < 14; turn += 1) {
    const [pet] = await send<{ readonly id: number }[]>('GET', '/pets?status=available&limit=1');
    const { id } = await send('POST', '/orders', { petId: pet?.id, reference: `cart-${1_042 + turn}` });
    for (const step of steps[turn % steps.length] ?? []) await send('POST', `/orders/${id}/${step}`);
  }
}

async function webhooks({ storePath }: TestConsole): Promise<void> {
  const store = `sqlite:${storePath}`;
  const reason = 'The receiver responded with 410.';
  const types = ['order.*', 'webhook.*'] as const;
  await addWebhook(store, { accountId: 2, url: 'https://seattle.example/webhooks/orders', types });
  await addWebhook(store, {
    accountId: 3,
    description: 'Price tags',
    enabled: false,
    disabledReason: reason,
  });
  const now = Date.now();
  const deliveries = Array.from({ length: 40 }, (_, index) => {
    const made = index === 39 ? pendingDelivery : index % 11 === 9 ? failedDelivery : succeededDelivery;
    return made(1n, BigInt(index + 1), now - (40 - index) * 60_000);
  });
  await addDeliveries(store, deliveries);
}
