import { excludes } from '../lists.ts';
import type { Request } from '../request.ts';
import type { Resource } from '../resource.ts';
import { absentId, categoryIdIn, type RequestInputs } from '../scene.ts';
import { type Animal, animals } from './animals.ts';

/** Number of animals in each status, as an inventory response. */
function inventoryText(counted: Iterable<Animal>): string {
  const counts = { available: 0, pending: 0, sold: 0 };
  for (const { status } of counted) counts[status]++;
  return JSON.stringify(counts);
}

function getInventory(inputs: RequestInputs): Request {
  const { chance, scene } = inputs;
  const request = { operationId: 'getInventory', method: 'GET' } as const;
  if (!scene.isShared && chance.often(0.3)) {
    return {
      ...request,
      ...(!scene.isAlone && { isPartly: true }),
      target: '/inventory',
      act: wholeInventory(scene.isAlone),
    };
  }
  const category = chance.often(0.9) ? categoryIdIn(inputs) : absentId(chance);
  const target = `/inventory?categoryId=${category}`;
  if (!scene.isAlone && !scene.categories.includes(category))
    return { ...request, isPartly: true, target, act: () => someInventory };
  return {
    ...request,
    target,
    act: ({ world }) => {
      const all = world.all(animals);
      const admitted = [...all.values().filter(({ categoryId }) => categoryId === category)];
      const isTold = admitted.length > 0 && admitted.length < all.size;
      const ways = isTold ? [excludes('categoryId', ['categoryId'])] : [];
      return { status: 200, text: inventoryText(admitted), ways };
    },
  };
}

const inventoryForm = /^\{"available":(\d+),"pending":(\d+),"sold":(\d+)\}$/;

const someInventory = {
  status: 200,
  matches: (text: string) => (inventoryForm.test(text) ? undefined : `the inventory is ${text}`),
};

/** The count includes other clients' animals, unless no other client uses the store. */
function wholeInventory(isAlone: boolean): Request['act'] {
  return ({ world }) => {
    const text = inventoryText(world.all(animals).values());
    return { status: 200, ...(isAlone ? { text } : { matches: atLeast(text) }) };
  };
}

function atLeast(text: string): (text: string) => string | undefined {
  const due = inventoryForm.exec(text) ?? [];
  return (shown) => {
    const counts = inventoryForm.exec(shown);
    const isEnough = counts?.slice(1).every((count, at) => Number(count) >= Number(due[at + 1]));
    return isEnough ? undefined : `the inventory is ${shown}, but the caller alone has ${text}`;
  };
}

export const inventory: Resource = {
  places: { getInventory },
  *answers(world) {
    const all = world.all(animals);
    yield ['/inventory', inventoryText(all.values())];
    const byCategory = Map.groupBy(all.values(), ({ categoryId }) => categoryId);
    for (const [id, those] of byCategory) yield [`/inventory?categoryId=${id}`, inventoryText(those)];
  },
};
