import { totalAnimals } from '../contract/pets.ts';
import type { Pet } from '../contract/representations.ts';
import type { PetFilter, PetStore } from '../storage/storage.ts';
import { readInBatches } from './read-in-batches.ts';

type ExportFilter = Pick<PetFilter, 'status' | 'categoryId'>;

const pageLength = 1_000;

export async function countExported(pets: PetStore, { status, categoryId }: ExportFilter): Promise<number> {
  const inventory = await pets.inventory(categoryId);
  return status === undefined ? totalAnimals(inventory) : inventory[status];
}

/**
 * All animals, in ascending order of id. An animal that exists throughout the export is included exactly once, even
 * with concurrent writes.
 */
export function readExportPages(pets: PetStore, filter: ExportFilter): AsyncGenerator<readonly Pet[]> {
  return readInBatches(pageLength, (last) => pets.list(last?.id, pageLength, filter));
}
