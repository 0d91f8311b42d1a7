import { total } from '../contract/inventory.ts';
import type { Pet } from '../contract/pets.ts';
import type { PetFilter, PetStore } from '../storage/storage.ts';

type ExportFilter = Pick<PetFilter, 'status' | 'categoryId'>;

const pageLength = 1_000;

export async function exportedCount(pets: PetStore, { status, categoryId }: ExportFilter): Promise<number> {
  const inventory = await pets.inventory(categoryId);
  return status === undefined ? total(inventory) : inventory[status];
}

/**
 * All animals, in ascending order of id. An animal that exists throughout the export is included exactly once, even
 * with concurrent writes.
 */
export async function* exportedPages(pets: PetStore, filter: ExportFilter): AsyncGenerator<readonly Pet[]> {
  let after = 0n;
  for (;;) {
    const page = await pets.list(after, pageLength, filter);
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    after = last.id;
  }
}
