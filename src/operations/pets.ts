import { andThen } from '../domain/awaitable.ts';
import { found } from './found.ts';
import { pageOf } from './pages.ts';
import type { ReadersOf } from './readers.ts';

/** What clients read of animals. */
export const petReaders = {
  listPets: ({ pets }, { query }) => {
    const { status, categoryId, id: ids } = query;
    return pageOf(query, {
      path: '/pets',
      read: (after = 0n, limit) => pets.list(after, limit, { status, categoryId, ids }),
    });
  },
  getPet: ({ pets }, { params }) => andThen(pets.find(params.petId), (pet) => found(pet, 'pet_not_found')),
  getInventory: ({ pets }, { query }) => pets.inventory(query.categoryId),
} satisfies ReadersOf<'listPets' | 'getPet' | 'getInventory'>;
