/** Generates reproducible animals and random numbers. */
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

/** Generates animals in groups that fit into one transaction. */
export function* animals(count: number, groupSize = 5_000): Generator<NewPet[]> {
  for (let start = 0; start < count; start += groupSize) {
    yield Array.from({ length: Math.min(groupSize, count - start) }, (_, index) => animal(start + index));
  }
}

/** Returns a generator of reproducible pseudorandom numbers in [0, 1) (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
