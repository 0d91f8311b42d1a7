import { anyInt64, spelled } from '../../generate/integers.ts';
import { anyName, jsonString } from '../../generate/json-text.ts';
import { listRequest, memberFilters } from '../lists.ts';
import { bodyOf, type Members, type Request } from '../request.ts';
import { currentOf, getRequest, type Resource } from '../resource.ts';
import { absentId, categoryIdIn, endOfOwnCategories, type RequestInputs, type Scene } from '../scene.ts';
import { ascending, changed, type Outcome, refusal, type Turn, type World } from '../world.ts';
import { type Animal, animals, type PetStatus, petIdIn, petStatuses, petText } from './animals.ts';
import { openOrderOf, kind as orders } from './orders.ts';

type PetPatch = Partial<Omit<Animal, 'id'>>;

/** Allowed status transitions. */
const followers: Readonly<Record<PetStatus, readonly PetStatus[]>> = {
  available: ['pending', 'sold'],
  pending: ['available', 'sold'],
  sold: ['available'],
};

export function createPet({ world, chosen }: Turn, animal: Omit<Animal, 'id'>): Outcome {
  const added = { id: chosen.id, ...animal };
  world.all(animals).set(added.id, added);
  world.record('pet.created', petText(added));
  return { status: 201, text: petText(added), location: `/v1/pets/${added.id}` };
}

function updatePet({ world, meets }: Turn, id: bigint, patch: PetPatch): Outcome {
  const animal = world.all(animals).get(id);
  if (animal === undefined) return refusal(404, 'pet_not_found');
  if (!meets(petText(animal))) return changed;
  const { status = animal.status } = patch;
  if (status !== animal.status) {
    const order = openOrderOf(world, id);
    if (order !== undefined) return refusal(409, 'pet_reserved', [`order ${order.id}`]);
    const next = followers[animal.status];
    if (!next.includes(status))
      return refusal(409, 'status_transition_not_allowed', [animal.status, ...next]);
  }
  const updated = { ...animal, ...patch };
  world.all(animals).set(id, updated);
  if (petText(updated) !== petText(animal)) world.record('pet.updated', petText(updated));
  return { status: 200, text: petText(updated) };
}

function deletePet({ world, meets }: Turn, id: bigint): Outcome {
  const animal = world.all(animals).get(id);
  if (animal === undefined) return refusal(404, 'pet_not_found');
  if (!meets(petText(animal))) return changed;
  const order = openOrderOf(world, id);
  if (order !== undefined) return refusal(409, 'pet_reserved', [`order ${order.id}`]);
  world.remove(animals, id);
  world.record('pet.deleted', petText(animal));
  return { status: 204, text: '' };
}

const mostIds = 8;

function listPets(inputs: RequestInputs): Request {
  const { chance, scene } = inputs;
  const all = [...scene.world.all(animals).values()];
  const known = all.length > 0 && chance.often(0.8) ? chance.pick(all) : undefined;
  const categoryId = known?.categoryId ?? categoryIdIn(inputs);
  const ids = idsIn(inputs, known);
  const some = known?.id ?? petIdIn(inputs);
  const minId = int64Near(some, -chance.int(0, 3));
  const maxId = int64Near(some, chance.int(0, 3));
  return listRequest(inputs, {
    operationId: 'listPets',
    path: '/pets',
    filters: {
      ...memberFilters<Animal>('listPets', { ...known, categoryId }, chance),
      id: { value: ids.join(), admits: ({ id }) => ids.includes(id) },
      minId: { value: String(minId), admits: ({ id }) => id >= minId },
      maxId: { value: String(maxId), admits: ({ id }) => id <= maxId },
    },
    ownBy: ['id', ...(scene.categories.includes(categoryId) ? ['categoryId'] : [])],
    isMine: (id) => scene.world.all(animals).has(id) || scene.gone.has(id),
    things: (world) => world.all(animals).values(),
    textOf: petText,
  });
}

function int64Near(value: bigint, distance: number): bigint {
  const near = value + BigInt(distance);
  return BigInt.asIntN(64, near) === near ? near : value;
}

/** Ids of some animals, about half of which share the category or the status of the known animal. */
function idsIn(inputs: RequestInputs, known: Animal | undefined): bigint[] {
  const { chance, scene } = inputs;
  const alike = [...scene.world.all(animals).values()].filter(
    ({ categoryId, status }) => categoryId === known?.categoryId || status === known?.status,
  );
  const others = Array.from({ length: chance.int(0, mostIds) }, () =>
    alike.length > 0 && chance.often(0.5) ? chance.pick(alike).id : petIdIn(inputs),
  );
  return [...new Set([known?.id ?? petIdIn(inputs), ...others])];
}

function createRequest(inputs: RequestInputs): Request {
  const { chance } = inputs;
  const name = anyName(chance);
  const categoryId = categoryIn(inputs);
  const status = chance.often(0.3) ? chance.pick(petStatuses) : undefined;
  return {
    operationId: 'createPet',
    method: 'POST',
    target: '/pets',
    ...bodyOf(chance, membersOf(inputs, { name, categoryId, ...(status && { status }) })),
    act: (turn) => createPet(turn, { name, categoryId, status: status ?? 'available' }),
  };
}

function membersOf({ chance }: RequestInputs, { name, categoryId, status }: PetPatch): Members {
  return [
    ...(name === undefined ? [] : [['name', jsonString(name, chance)] as const]),
    ...(categoryId === undefined ? [] : [['categoryId', spelled(categoryId, chance)] as const]),
    ...(status === undefined ? [] : [['status', jsonString(status, chance)] as const]),
  ];
}

/**
 * Half of the animals share one category, so that filters match several animals. Occasionally, a category is shared
 * with other clients.
 */
function categoryIn(inputs: RequestInputs): bigint {
  const { chance, scene } = inputs;
  const [first = 0n] = scene.categories;
  if (chance.often(0.5)) return first;
  if (scene.isShared || chance.often(0.8)) return categoryIdIn(inputs);
  const id = anyInt64(chance);
  return id >= 0n && id < endOfOwnCategories ? -1n - id : id;
}

/** Often changes the status of a delivered animal, to test returning its order afterwards. */
function changeIn(inputs: RequestInputs): { readonly id: bigint; readonly status: PetStatus } {
  const { chance, scene } = inputs;
  const { world } = scene;
  const status = chance.pick(petStatuses);
  const delivered = [...world.all(orders).values()].filter((order) => order.status === 'delivered');
  if (delivered.length === 0 || chance.often(0.6)) return { id: petIdIn(inputs), status };
  const { petId: id } = chance.pick(delivered);
  const isSold = world.all(animals).get(id)?.status === 'sold' && chance.often(0.8);
  return { id, status: isSold ? 'available' : 'pending' };
}

function updateRequest(inputs: RequestInputs): Request {
  const { chance, scene } = inputs;
  const { id, status } = changeIn(inputs);
  const patch: PetPatch = {
    ...(chance.often(0.3) && { name: anyName(chance) }),
    ...(chance.often(0.2) && { categoryId: categoryIn(inputs) }),
    ...(chance.often(0.7) && { status }),
  };
  return {
    operationId: 'updatePet',
    method: 'PATCH',
    target: `/pets/${id}`,
    ...bodyOf(chance, membersOf(inputs, patch)),
    ...currentOf(scene, animals, id),
    act: (turn) => updatePet(turn, id, patch),
  };
}

/**
 * Range of the number of animals if no other client uses the store. Lists are not empty, and no outcome becomes rarer
 * during the walk: most pages reach `maxId`, and a constant share of the animals is reserved.
 */
const fewAnimals = 12;
const manyAnimals = 20;

/** Deletes an animal if there are many. */
function createOrDelete(inputs: RequestInputs): Request {
  const { isAlone, world } = inputs.scene;
  const isMany = isAlone && world.all(animals).size >= manyAnimals;
  return isMany ? deleteRequest(inputs) : createRequest(inputs);
}

function deleteRequest(inputs: RequestInputs): Request {
  const { isAlone, world } = inputs.scene;
  const isFew = isAlone && world.all(animals).size < fewAnimals;
  const id = isFew || inputs.chance.often(0.3) ? absentId(inputs.chance) : petIdIn(inputs);
  return {
    operationId: 'deletePet',
    method: 'DELETE',
    target: `/pets/${id}`,
    ...currentOf(inputs.scene, animals, id),
    act: (turn) => deletePet(turn, id),
  };
}

const textsWhere = (world: World, admits: (animal: Animal) => boolean) =>
  ascending(world.all(animals).values().filter(admits)).map(petText);

/** Requests that list the animals in each of the scene's categories. */
function endReads({ categories }: Scene): Request[] {
  return categories.map((id) => {
    const query = `limit=100&categoryId=${id}`;
    const text = (world: World) => `[${textsWhere(world, ({ categoryId }) => categoryId === id).join()}]`;
    return {
      operationId: 'listPets',
      method: 'GET',
      target: `/pets?${query}`,
      act: ({ world }) => ({ status: 200, text: text(world), page: { query, hasNext: false } }),
    };
  });
}

export const pets: Resource = {
  kind: animals,
  places: {
    listPets,
    createPet: createOrDelete,
    getPet: (inputs) => getRequest('getPet', animals, ['/pets', petIdIn(inputs)], 'pet_not_found'),
    updatePet: updateRequest,
    deletePet: deleteRequest,
  },
  lists: (world) => [
    ['/pets', textsWhere(world, () => true)],
    ...petStatuses.map(
      (status) =>
        [`/pets?status=${status}`, textsWhere(world, (animal) => animal.status === status)] as const,
    ),
  ],
  endReads,
};
