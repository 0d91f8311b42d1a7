import { ApiError } from '../../contract/api-error.ts';
import type { NewPet, petOperations } from '../../contract/pets.ts';
import { type Pet, petJson, petJsonWithoutId } from '../../contract/representations.ts';
import { andThen } from '../../domain/awaitable.ts';
import { truncateAfter } from '../../domain/json-rows.ts';
import { allowedStatuses } from '../../domain/pet-status.ts';
import type { Transaction } from '../../storage/transaction.ts';
import { defineSubject } from '../changes/audited-unit.ts';
import { checkPreconditions } from '../changes/preconditions.ts';
import { expectFound } from '../errors.ts';
import { readJsonPage } from './pages.ts';
import type { OperationReaders, OperationUnits } from './rows.ts';

export const petReaders = {
  listPets: ({ pets }, { query }) =>
    readJsonPage(query, {
      path: '/pets',
      read: (after = 0n, limit, { id: ids, minId = 1n, maxId, ...filter }) => {
        const lowerBound = minId - 1n;
        return andThen(
          pets.listJson(after < lowerBound ? lowerBound : after, limit, { ...filter, ids }),
          (rows) => (maxId === undefined ? rows : truncateAfter(rows, maxId)),
        );
      },
    }),
  getPet: ({ pets }, { params }) =>
    andThen(pets.find(params.petId), (pet) => expectFound(pet, 'pet_not_found')),
  getInventory: ({ pets }, { query }) => pets.inventory(query.categoryId),
} satisfies OperationReaders<typeof petOperations>;

const pet = defineSubject('pet', ({ pets }, id) => pets.find(BigInt(id)), petJson);

export const petUnits = {
  createPet: {
    writes: ['pets'],
    subject: pet.made,
    all: ({ pets }: Transaction, inputs: readonly { readonly body: NewPet; readonly now: number }[]) =>
      pets.add(
        inputs.map(({ body }) => body),
        {
          type: 'pet.created',
          createdAt: Math.max(...inputs.map(({ now }) => now)),
          jsonBehindId: petJsonWithoutId,
        },
      ),
  },
  updatePet: {
    writes: ['pets', 'orders'],
    subject: pet.byParam('petId'),
    run: async ({ pets, orders, events }, { params, body, preconditions, now }) => {
      const before = expectFound(await pets.find(params.petId), 'pet_not_found');
      checkPreconditions(preconditions, petJson(before));
      const after: Pet = {
        id: before.id,
        name: body.name ?? before.name,
        categoryId: body.categoryId ?? before.categoryId,
        status: body.status ?? before.status,
      };
      if (petJson(after) === petJson(before)) return before;
      if (after.status !== before.status) {
        await expectNotReserved(orders, before.id);
        if (!allowedStatuses(before.status).includes(after.status)) throw transitionError(before, after);
      }
      await pets.replace(before, after);
      events.add({ type: 'pet.updated', data: petJson(after), createdAt: now });
      return after;
    },
  },
  deletePet: {
    writes: ['pets', 'orders'],
    subject: pet.byParam('petId'),
    run: async ({ pets, orders, events }, { params, preconditions, now }) => {
      const before = expectFound(await pets.find(params.petId), 'pet_not_found');
      checkPreconditions(preconditions, petJson(before));
      await expectNotReserved(orders, before.id);
      await pets.remove(before);
      events.add({ type: 'pet.deleted', data: petJson(before), createdAt: now });
    },
  },
} as const satisfies OperationUnits<typeof petOperations>;

async function expectNotReserved(orders: Transaction['orders'], petId: bigint): Promise<void> {
  const order = await orders.findBy('open', petId);
  if (order === undefined) return;
  throw new ApiError('pet_reserved', {
    message: `The animal is reserved by order ${order.id}, which is ${order.status}. Deliver or cancel the order first.`,
  });
}

function transitionError(before: Pet, after: Pet): ApiError {
  const allowed = allowedStatuses(before.status).map((status) => `"${status}"`);
  return new ApiError('status_transition_not_allowed', {
    message: `The animal is "${before.status}" and cannot become "${after.status}"; it can become ${allowed.join(' or ')}.`,
  });
}
