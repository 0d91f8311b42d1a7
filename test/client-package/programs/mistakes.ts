/** Errors that the compiler must report, one per marked line. This program is never run. */
import {
  AnimalStore,
  AnimalStoreError,
  type NewPet,
  type NotFoundError,
  type Pet,
} from '@animal-store/client';

declare const store: AnimalStore;
declare const pet: Pet;
declare const notFound: NotFoundError;

export const withoutKey = new AnimalStore({ url: 'http://127.0.0.1:3000' }); // mistake: a client needs a key
export const unknownMember: NewPet = { name: 'Ozzy', categoryId: 1n, category: 1n }; // mistake: animals have no such member
export const incomplete: NewPet = { name: 'Ozzy' }; // mistake: an animal has a category
export const unknownStatus = store.pets.list({ status: 'on sale' }); // mistake: there is no such status
export const unknownFilter = store.pets.list({ name: 'Ozzy' }); // mistake: there is no such filter
export const unknownType = store.events.follow({ types: ['pet.sold'] }); // mistake: there is no such type of event
export const text = store.pets.delete('1'); // mistake: ids are integers
export const rounded: number = pet.id; // mistake: ids are bigint
export const otherKind = notFound.retryAfterSeconds; // mistake: this error has no such member
pet.name = 'Mia'; // mistake: members of a response are read-only

export function handle(error: unknown): boolean {
  return error instanceof AnimalStoreError && error.code === 'pet_not_fuond'; // mistake: there is no such code
}
