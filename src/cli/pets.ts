import { openAdminServices } from '../app.ts';
import type { Config } from '../config.ts';
import { inventoryJson } from '../contract/inventory.ts';
import { type Pet, type PetPatch, type PetStatus, petJson } from '../contract/pets.ts';
import { printable } from '../domain/printable.ts';
import { writeAs } from '../operations/by-operator.ts';
import { petReaders } from '../operations/pets.ts';
import { type Listing, type ListOptions, printList } from './pages.ts';
import { CommandError, grouped, say, sayJsonText, table } from './terminal.ts';
import { unconditional } from './unit.ts';

export interface ListPetsOptions extends ListOptions {
  readonly status?: PetStatus;
  readonly category?: bigint;
  readonly id?: bigint[];
}

const listing: Listing<Pet> = {
  path: '/pets',
  none: 'No animals.',
  header: ['ID', 'STATUS', 'CATEGORY', 'NAME'],
  row: ({ id, name, categoryId, status }) => [String(id), status, String(categoryId), name],
  json: petJson,
};

export async function listPets(
  config: Config,
  { status, category: categoryId, id, ...options }: ListPetsOptions,
): Promise<void> {
  await using admin = await openAdminServices(config);
  await printList({ status, categoryId, id }, options, listing, (query) =>
    petReaders.listPets(admin.storage, { params: {}, query, body: undefined }),
  );
}

export async function showPet(config: Config, petId: bigint, { json }: { json?: true }): Promise<void> {
  await using admin = await openAdminServices(config);
  const input = { params: { petId }, query: undefined, body: undefined };
  report(await petReaders.getPet(admin.storage, input), json);
}

export interface UpdatePetOptions {
  readonly name?: string;
  readonly category?: bigint;
  readonly status?: PetStatus;
  readonly json?: true;
}

export async function updatePet(
  config: Config,
  petId: bigint,
  { json, name, category: categoryId, status }: UpdatePetOptions,
): Promise<void> {
  const body: PetPatch = { name, categoryId, status };
  if (Object.values(body).every((value) => value === undefined)) {
    throw new CommandError('Nothing to change: specify --name, --category or --status.', 2);
  }
  await using admin = await openAdminServices(config);
  const unit = { params: { petId }, body, ...unconditional() };
  report(await writeAs(admin, 'updatePet', unit), json);
}

export async function removePet(config: Config, petId: bigint, { json }: { json?: true }): Promise<void> {
  await using admin = await openAdminServices(config);
  await writeAs(admin, 'deletePet', { params: { petId }, ...unconditional() });
  if (json) return sayJsonText(`{"id":${petId},"removed":true}`);
  say(`Removed animal ${petId}.`);
}

function report(pet: Pet, json: true | undefined): void {
  const { id, name, categoryId, status } = pet;
  if (json) sayJsonText(petJson(pet));
  else say(`Animal ${id} (${printable(name)}), category ${categoryId}: ${status}.`);
}

export async function showInventory(
  config: Config,
  { category: categoryId, json }: { category?: bigint; json?: true },
): Promise<void> {
  await using admin = await openAdminServices(config);
  const input = { params: {}, query: { categoryId }, body: undefined };
  const inventory = await petReaders.getInventory(admin.storage, input);
  if (json) return sayJsonText(inventoryJson(inventory));
  say(
    table(
      ['STATUS', 'ANIMALS'],
      Object.entries(inventory).map(([status, count]) => [status, grouped(count)]),
    ),
  );
}
