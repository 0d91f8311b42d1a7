/** Generates reproducible animals. */
import type { NewPet, PetStatus } from '../src/contract/pets.ts';

const names = ['Ozzy', 'Luna', 'Mr. Whiskers', 'Zoë', 'Bella', 'Kipper', 'Tuğba', 'Daisy', 'Rex', 'Pepper'];
const surnames = ['the Brave', 'of Ballard', 'Junior', 'McFluff', 'II', 'Longtail'];

/** Returns an animal's status. Of any twenty consecutive animals, twelve are available, five pending and three sold. */
function statusOf(index: number): PetStatus {
  const place = (index * 7) % 20;
  if (place < 12) return 'available';
  return place < 17 ? 'pending' : 'sold';
}

/** Returns the animal with the id `index + 1` in an initially empty store. */
export function animal(index: number): NewPet {
  const name = `${names[index % names.length]} ${surnames[index % surnames.length]} ${index}`;
  return { name, categoryId: BigInt(index % 50), status: statusOf(index) };
}

/** Number of animals that fit into one transaction. */
const groupSize = 5_000;

/** Generates animals in groups. */
export function* animals(count: number): Generator<NewPet[]> {
  for (let start = 0; start < count; start += groupSize) {
    yield Array.from({ length: Math.min(groupSize, count - start) }, (_, index) => animal(start + index));
  }
}
