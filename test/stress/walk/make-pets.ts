import { anyInt64, spelled } from '../generate/integers.ts';
import { anyName, jsonString } from '../generate/json-text.ts';
import { excludes, listRequest } from './lists.ts';
import { bodyOf, type Members, type Request } from './request.ts';
import { createPet, deletePet, type PetPatch, updatePet } from './rules.ts';
import { absentId, categoryIdIn, endOfOwnCategories, type Making, petIdIn } from './scene.ts';
import { type Animal, inventoryText, type PetStatus, petStatuses, petText } from './world.ts';

const mostIds = 8;

export function listPets(making: Making): Request {
  const { chance, scene } = making;
  // Often one of the first, so that a page reaches beyond `maxId`.
  const animals = [...scene.world.animals.values()].slice(0, chance.pick([10, undefined]));
  const known = animals.length > 0 && chance.often(0.8) ? chance.pick(animals) : undefined;
  const status = known?.status ?? chance.pick(petStatuses);
  const categoryId = known?.categoryId ?? categoryIdIn(making);
  const ids = idsIn(making, known);
  const some = known?.id ?? petIdIn(making);
  const minId = int64Near(some, -chance.int(0, 3));
  const maxId = int64Near(some, chance.int(0, 3));
  return listRequest(making, {
    operationId: 'listPets',
    path: '/pets',
    filters: {
      status: { value: status, admits: (animal: Animal) => animal.status === status },
      categoryId: { value: String(categoryId), admits: (animal: Animal) => animal.categoryId === categoryId },
      id: { value: ids.join(), admits: ({ id }: Animal) => ids.includes(id) },
      minId: { value: String(minId), admits: ({ id }: Animal) => id >= minId },
      maxId: { value: String(maxId), admits: ({ id }: Animal) => id <= maxId },
    },
    ownBy: ['id', ...(scene.categories.includes(categoryId) ? ['categoryId'] : [])],
    isMine: (id) => scene.world.animals.has(id) || scene.gone.has(id),
    things: ({ animals }) => animals.values(),
    textOf: petText,
  });
}

function int64Near(value: bigint, distance: number): bigint {
  const near = value + BigInt(distance);
  return BigInt.asIntN(64, near) === near ? near : value;
}

/** The ids of some animals, half of which are like the known one. */
function idsIn(making: Making, known: Animal | undefined): bigint[] {
  const { chance, scene } = making;
  const alike = [...scene.world.animals.values()].filter(
    ({ categoryId, status }) => categoryId === known?.categoryId || status === known?.status,
  );
  const others = Array.from({ length: chance.int(0, mostIds) }, () =>
    alike.length > 0 && chance.often(0.5) ? chance.pick(alike).id : petIdIn(making),
  );
  return [...new Set([known?.id ?? petIdIn(making), ...others])];
}

export function createPetRequest(making: Making): Request {
  const { chance } = making;
  const name = anyName(chance);
  const categoryId = categoryIn(making);
  const status = chance.often(0.3) ? chance.pick(petStatuses) : undefined;
  return {
    operationId: 'createPet',
    method: 'POST',
    target: '/pets',
    ...bodyOf(chance, membersOf(making, { name, categoryId, ...(status && { status }) })),
    act: (turn) => createPet(turn, { name, categoryId, status: status ?? 'available' }),
  };
}

function membersOf({ chance }: Making, { name, categoryId, status }: PetPatch): Members {
  return [
    ...(name === undefined ? [] : [['name', jsonString(name, chance)] as const]),
    ...(categoryId === undefined ? [] : [['categoryId', spelled(categoryId, chance)] as const]),
    ...(status === undefined ? [] : [['status', jsonString(status, chance)] as const]),
  ];
}

/** Half of the animals are of one category, so that filters find several. Now and then one that any client may use. */
function categoryIn(making: Making): bigint {
  const { chance, scene } = making;
  const [first = 0n] = scene.categories;
  if (chance.often(0.5)) return first;
  if (scene.isShared || chance.often(0.8)) return categoryIdIn(making);
  const id = anyInt64(chance);
  return id >= 0n && id < endOfOwnCategories ? -1n - id : id;
}

export function getPet(making: Making): Request {
  const id = petIdIn(making);
  return {
    operationId: 'getPet',
    method: 'GET',
    target: `/pets/${id}`,
    act: ({ world }) => {
      const animal = world.animals.get(id);
      if (animal !== undefined) return { status: 200, text: petText(animal) };
      return { status: 404, error: { code: 'pet_not_found' } };
    },
  };
}

/** Often an animal that was delivered and may be returned, brought back and reserved meanwhile, which is the rarer case. */
function changeIn(making: Making): { readonly id: bigint; readonly status: PetStatus } {
  const { chance, scene } = making;
  const status = chance.pick(petStatuses);
  const delivered = [...scene.world.orders.values()].filter((order) => order.status === 'delivered');
  if (delivered.length === 0 || chance.often(0.6)) return { id: petIdIn(making), status };
  const { petId: id } = chance.pick(delivered);
  const isSold = scene.world.animals.get(id)?.status === 'sold' && chance.often(0.8);
  return { id, status: isSold ? 'available' : 'pending' };
}

export function updatePetRequest(making: Making): Request {
  const { chance, scene } = making;
  const { id, status } = changeIn(making);
  const patch: PetPatch = {
    ...(chance.often(0.3) && { name: anyName(chance) }),
    ...(chance.often(0.2) && { categoryId: categoryIn(making) }),
    ...(chance.often(0.7) && { status }),
  };
  const before = scene.world.animals.get(id);
  return {
    operationId: 'updatePet',
    method: 'PATCH',
    target: `/pets/${id}`,
    ...bodyOf(chance, membersOf(making, patch)),
    ...(before && { current: petText(before) }),
    act: (turn) => updatePet(turn, id, patch),
  };
}

/** A client that is alone keeps some animals, for its lists. */
const fewAnimals = 12;

export function deletePetRequest(making: Making): Request {
  const { isAlone, world } = making.scene;
  const isFew = isAlone && world.animals.size < fewAnimals;
  const id = isFew || making.chance.often(0.3) ? absentId(making.chance) : petIdIn(making);
  const before = making.scene.world.animals.get(id);
  return {
    operationId: 'deletePet',
    method: 'DELETE',
    target: `/pets/${id}`,
    ...(before && { current: petText(before) }),
    act: (turn) => deletePet(turn, id),
  };
}

export function getInventory(making: Making): Request {
  const { chance, scene } = making;
  const request = { operationId: 'getInventory', method: 'GET' } as const;
  if (!scene.isShared && chance.often(0.3)) {
    return {
      ...request,
      ...(!scene.isAlone && { isPartly: true }),
      target: '/inventory',
      act: wholeInventory(scene.isAlone),
    };
  }
  const category = chance.often(0.9) ? categoryIdIn(making) : absentId(chance);
  const target = `/inventory?categoryId=${category}`;
  if (!scene.isAlone && !scene.categories.includes(category))
    return { ...request, isPartly: true, target, act: () => someInventory };
  return {
    ...request,
    target,
    act: ({ world: { animals } }) => {
      const admitted = [...animals.values().filter(({ categoryId }) => categoryId === category)];
      const isTold = admitted.length > 0 && admitted.length < animals.size;
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

/** Unless the client is alone, others' animals are counted with its own. */
function wholeInventory(isAlone: boolean): Request['act'] {
  return ({ world }) => {
    const text = inventoryText(world.animals.values());
    return { status: 200, ...(isAlone ? { text } : { matches: atLeast(text) }) };
  };
}

function atLeast(text: string): (text: string) => string | undefined {
  const due = inventoryForm.exec(text) ?? [];
  return (shown) => {
    const counts = inventoryForm.exec(shown);
    const isEnough = counts?.slice(1).every((count, at) => Number(count) >= Number(due[at + 1]));
    return isEnough ? undefined : `the inventory is ${shown}, and the asker has ${text}`;
  };
}
