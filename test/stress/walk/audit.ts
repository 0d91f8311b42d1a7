/** The store read whole, page by page, and compared with the model to the byte. */
import type { Checkable } from '../../support/contract.ts';
import { ascending, categoryText, inventoryText, orderText, petText, type World } from './world.ts';

export type Read = (target: string) => Promise<Checkable>;

/** Throws unless the store has exactly what the world has, and counts it right. */
export async function audit(read: Read, world: World): Promise<void> {
  const animals = ascending(world.animals.values());
  compare('animals', await whole(read, '/pets?limit=100'), animals.map(petText));
  compare('orders', await whole(read, '/orders?limit=100'), ascending(world.orders.values()).map(orderText));
  const categories = ascending([...world.categories].map(([id, name]) => ({ id, name })));
  compare(
    'categories',
    await whole(read, '/categories?limit=100'),
    categories.map(({ id, name }) => categoryText([id, name])),
  );
  for (const status of ['available', 'pending', 'sold'] as const) {
    const those = animals.filter((animal) => animal.status === status).map(petText);
    compare(`${status} animals`, await whole(read, `/pets?limit=100&status=${status}`), those);
  }
  await countAll(read, world);
}

/** The inventory, in the whole and of every category, is a full count. */
async function countAll(read: Read, { animals }: World): Promise<void> {
  const counted = async (target: string, text: string) => {
    const answer = await read(target);
    if (answer.text !== text) throw new Error(`${target} is ${answer.text}, and a full count ${text}`);
  };
  await counted('/inventory', inventoryText(animals.values()));
  const byCategory = Map.groupBy(animals.values(), ({ categoryId }) => categoryId);
  for (const [id, those] of byCategory) await counted(`/inventory?categoryId=${id}`, inventoryText(those));
}

/** The texts of all the things of a list, from the first page to the last. */
export async function whole(read: Read, first: string): Promise<string[]> {
  const texts: string[] = [];
  for (let target: string | undefined = first; target !== undefined; ) {
    const answer: Checkable = await read(target);
    if (answer.status !== 200) throw new Error(`${target} is answered ${answer.status}: ${answer.text}`);
    if (answer.text !== '[]') texts.push(...answer.text.slice(1, -1).split(/(?<=\}),(?=\{"id":)/));
    target = /<\/v1([^>]+)>; rel="next"/.exec(answer.headers.get('link') ?? '')?.[1];
  }
  return texts;
}

function compare(what: string, stored: readonly string[], due: readonly string[]): void {
  const at = due.findIndex((text, index) => text !== stored[index]);
  if (at !== -1) throw new Error(`Of the ${what}, ${stored[at]} is stored, not ${due[at]}.`);
  if (stored.length > due.length) throw new Error(`Of the ${what}, ${stored[due.length]} is stored besides.`);
}
