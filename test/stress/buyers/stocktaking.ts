/** The store read whole, over HTTP and past the service, when nobody buys: both agree with each other and with the buyers. */

import type { ShopPlace } from '../shop-places.ts';
import type { Bought } from './buyer.ts';

interface Animal {
  readonly id: number;
  readonly status: string;
}

interface Stock {
  readonly animals: readonly Animal[];
  readonly orders: readonly Bought[];
  readonly inventory: Readonly<Record<string, number>>;
}

/** Throws unless the store has exactly the orders that the buyers were told of, and each open one holds its animal. */
export async function takeStock(ground: ShopPlace, told: readonly Bought[]): Promise<Stock> {
  const served = await overHttp(ground);
  const stored = await pastService(ground);
  same('What is served and what is stored', JSON.stringify(served), JSON.stringify(stored));
  const byId = told.toSorted((one, other) => one.id - other.id);
  const [is, should] = [stored.orders, byId].map((orders) => orders.map(orderText));
  const wrong = is?.find((text, index) => text !== should?.[index]);
  if (wrong !== undefined || is?.length !== should?.length)
    throw new Error(
      `${is?.length} orders are stored, ${should?.length} were told; the first other one: ${wrong}.`,
    );
  checkHeld(stored);
  return stored;
}

function checkHeld({ animals, orders, inventory }: Stock): void {
  const open = orders.filter(({ status }) => status === 'placed' || status === 'approved');
  const held = new Set(open.map(({ petId }) => petId));
  if (held.size < open.length) throw new Error(`${open.length} open orders hold ${held.size} animals.`);
  const pending = animals.filter(({ status }) => status === 'pending');
  const loose = pending.find(({ id }) => !held.has(id));
  if (loose !== undefined) throw new Error(`Animal ${loose.id} is pending, and no open order holds it.`);
  if (pending.length !== held.size)
    throw new Error(`${held.size} animals are held by open orders, and ${pending.length} are pending.`);
  const counts = { available: 0, pending: 0, sold: 0, ...countBy(animals) };
  same('The inventory and a full count', JSON.stringify(inventory), JSON.stringify(counts));
}

function countBy(animals: readonly Animal[]): Record<string, number> {
  const groups = Map.groupBy(animals, ({ status }) => status);
  return Object.fromEntries([...groups].map(([status, those]) => [status, those.length]));
}

async function overHttp({ urls, key }: ShopPlace): Promise<Stock> {
  const [url = ''] = urls();
  const read = async (target: string) => {
    const response = await fetch(url + target, { headers: { Authorization: `Bearer ${key}` } });
    if (!response.ok) throw new Error(`${target} was answered ${response.status}: ${await response.text()}`);
    return response;
  };
  const whole = async <Thing>(first: string) => {
    const things: Thing[] = [];
    for (let target: string | undefined = first; target !== undefined; ) {
      const page = await read(target);
      things.push(...((await page.json()) as Thing[]));
      target = /<(\/v1[^>]+)>; rel="next"/.exec(page.headers.get('link') ?? '')?.[1];
    }
    return things;
  };
  return {
    animals: (await whole<Animal>('/v1/pets?limit=100')).map(({ id, status }) => ({ id, status })),
    orders: (await whole<Bought>('/v1/orders?limit=100')).map(({ id, petId, status }) => ({
      id,
      petId,
      status,
    })),
    inventory: (await (await read('/v1/inventory')).json()) as Record<string, number>,
  };
}

async function pastService({ rows }: ShopPlace): Promise<Stock> {
  const animals = await rows<Animal>('SELECT id, status FROM pets ORDER BY id');
  const orders = await rows<Bought>('SELECT id, pet_id AS "petId", status FROM orders ORDER BY id');
  const [inventory] = await rows<Record<string, number>>('SELECT available, pending, sold FROM inventory');
  return {
    animals: animals.map(({ id, status }) => ({ id: Number(id), status })),
    orders: orders.map(({ id, petId, status }) => ({ id: Number(id), petId: Number(petId), status })),
    inventory: Object.fromEntries(
      Object.entries(inventory ?? {}).map(([status, count]) => [status, Number(count)]),
    ),
  };
}

function orderText({ id, petId, status }: Bought): string {
  return `${id} for ${petId}, ${status}`;
}

function same(what: string, one: string, other: string): void {
  if (one !== other) throw new Error(`${what} differ: ${one.slice(0, 300)} … and ${other.slice(0, 300)} …`);
}
