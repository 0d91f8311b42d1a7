import type { Chance } from '../generate/chance.ts';
import { anyName } from '../generate/names.ts';
import { type Item, listRequest } from './lists.ts';
import type { Request } from './request.ts';
import { createPet, deletePet, type PetPatch, updatePet } from './rules.ts';
import { absentId, categoryIdIn, type Making, petIdIn } from './scene.ts';
import {
  type Animal,
  ascending,
  inventoryText,
  type PetStatus,
  petStatuses,
  petText,
  type World,
} from './world.ts';

const mostIds = 6;

function animalsOf({ animals }: World, belongs: (animal: Animal) => boolean): Item[] {
  return ascending(animals.values())
    .filter(belongs)
    .map((animal) => ({ id: animal.id, text: petText(animal) }));
}

export function listPets(making: Making): Request {
  const { chance, scene } = making;
  const status = chance.often(0.4) ? chance.pick(petStatuses) : undefined;
  const category = chance.often(0.5) ? categoryIdIn(making) : undefined;
  const hasIds = chance.often(0.4) || (scene.isShared && category === undefined);
  const ids = hasIds ? idsIn(making) : undefined;
  const filters = {
    ...(status && { status }),
    ...(category !== undefined && { categoryId: `${category}` }),
    ...(ids && { id: ids.join(',') }),
  };
  const belongs = (animal: Animal) =>
    (status === undefined || animal.status === status) &&
    (category === undefined || animal.categoryId === category) &&
    (ids === undefined || ids.includes(animal.id));
  const isOpenToAll = category === undefined && ids === undefined;
  return listRequest(making, {
    operationId: 'listPets',
    path: '/pets',
    filters,
    items: (world) => animalsOf(world, belongs),
    ...(isOpenToAll && { isMine: (id: bigint) => scene.world.animals.has(id) || scene.gone.has(id) }),
    textOf: petText,
  });
}

function idsIn(making: Making): bigint[] {
  const count = making.chance.int(1, mostIds);
  return [...new Set(Array.from({ length: count }, () => petIdIn(making)))];
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
    body: objectText(chance, {
      name: JSON.stringify(name),
      categoryId: `${categoryId}`,
      status: quoted(status),
    }),
    act: (turn) => createPet(turn, { name, categoryId, status: status ?? 'available' }),
  };
}

/** A category of its own, now and then one that anybody may use, as far out as they go. */
function categoryIn(making: Making): bigint {
  const { chance, scene } = making;
  return scene.isShared || chance.often(0.9)
    ? categoryIdIn(making)
    : chance.pick([2n ** 63n - 1n, -(2n ** 63n)]);
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
    type: chance.pick(['application/merge-patch+json', 'application/json']),
    body: objectText(chance, {
      name: patch.name === undefined ? undefined : JSON.stringify(patch.name),
      categoryId: patch.categoryId?.toString(),
      status: quoted(patch.status),
    }),
    ...(before && { current: petText(before) }),
    act: (turn) => updatePet(turn, id, patch),
  };
}

export function deletePetRequest(making: Making): Request {
  const id = petIdIn(making);
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
      isPartly: true,
      target: '/inventory',
      act: ({ world }) => ({ status: 200, matches: atLeast(world) }),
    };
  }
  const category = chance.often(0.9) ? categoryIdIn(making) : absentId(chance);
  const mine = scene.categories.includes(category);
  if (!mine)
    return {
      ...request,
      isPartly: true,
      target: `/inventory?categoryId=${category}`,
      act: () => someInventory,
    };
  return {
    ...request,
    target: `/inventory?categoryId=${category}`,
    act: ({ world: { animals } }) => ({
      status: 200,
      text: inventoryText(animals.values().filter(({ categoryId }) => categoryId === category)),
    }),
  };
}

const inventoryForm = /^\{"available":(\d+),"pending":(\d+),"sold":(\d+)\}$/;

const someInventory = {
  status: 200,
  matches: (text: string) => (inventoryForm.test(text) ? undefined : `the inventory is ${text}`),
};

/** Others' animals are counted with the asker's. */
function atLeast({ animals }: World): (text: string) => string | undefined {
  const due = inventoryForm.exec(inventoryText(animals.values())) ?? [];
  return (text) => {
    const counts = inventoryForm.exec(text);
    const isEnough = counts?.slice(1).every((count, at) => Number(count) >= Number(due[at + 1]));
    return isEnough ? undefined : `the inventory is ${text}, and the asker has ${due[0]}`;
  };
}

function quoted(word: PetStatus | undefined): string | undefined {
  return word === undefined ? undefined : `"${word}"`;
}

/** An object as JSON, its members in any order; those that are undefined are left out. */
export function objectText(chance: Chance, members: Readonly<Record<string, string | undefined>>): string {
  const written = Object.entries(members).flatMap(([name, text]) =>
    text === undefined ? [] : [`"${name}":${text}`],
  );
  return `{${chance.shuffled(written).join(chance.pick([',', ', ']))}}`;
}
