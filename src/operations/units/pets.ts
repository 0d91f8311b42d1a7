import { type NewPet, type Pet, type PetPatch, petJson } from '../../contract/pets.ts';
import { mayFollow, statusesAfter } from '../../domain/pet-status.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Transaction, Units } from '../../storage/transaction.ts';
import { check, type Preconditions } from '../preconditions.ts';

interface PetInput {
  readonly params: { readonly petId: bigint };
  readonly preconditions: Preconditions;
}

export const petUnits = {
  createPet: {
    writes: ['pets'],
    all: ({ pets }: Transaction, inputs: readonly { readonly body: NewPet }[]) =>
      pets.add(inputs.map(({ body }) => body)),
  },
  updatePet: { writes: ['pets', 'orders'], run: updatePet },
  deletePet: { writes: ['pets', 'orders'], run: deletePet },
} as const satisfies Units;

async function updatePet(
  { pets, orders }: Transaction,
  { params, body, preconditions }: PetInput & { readonly body: PetPatch },
): Promise<Pet> {
  const pet = await find(pets, params.petId);
  check(preconditions, petJson(pet));
  const changed: Pet = {
    id: pet.id,
    name: body.name ?? pet.name,
    categoryId: body.categoryId ?? pet.categoryId,
    status: body.status ?? pet.status,
  };
  if (petJson(changed) === petJson(pet)) return pet;
  if (changed.status !== pet.status) {
    await refuseReserved(orders, pet.id);
    if (!mayFollow(pet.status, changed.status)) throw notAllowed(pet, changed);
  }
  await pets.replace(pet, changed);
  return changed;
}

async function deletePet({ pets, orders }: Transaction, { params, preconditions }: PetInput): Promise<void> {
  const pet = await find(pets, params.petId);
  check(preconditions, petJson(pet));
  await refuseReserved(orders, pet.id);
  await pets.remove(pet);
}

async function find(pets: Transaction['pets'], id: bigint): Promise<Pet> {
  const pet = await pets.find(id);
  if (pet === undefined) throw new Refusal('pet_not_found');
  return pet;
}

async function refuseReserved(orders: Transaction['orders'], petId: bigint): Promise<void> {
  const order = await orders.findOpen(petId);
  if (order === undefined) return;
  throw new Refusal('pet_reserved', {
    message: `The animal is reserved by order ${order.id}, which is ${order.status}. Deliver or cancel the order first.`,
  });
}

function notAllowed(before: Pet, after: Pet): Refusal {
  const allowed = statusesAfter(before.status).map((status) => `"${status}"`);
  return new Refusal('status_transition_not_allowed', {
    message: `The animal is "${before.status}" and cannot become "${after.status}"; it can become ${allowed.join(' or ')}.`,
  });
}
