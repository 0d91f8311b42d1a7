import type { LimitedStore } from '../../src/app/limited-store.ts';
import { ApiError } from '../../src/contract/api-error.ts';
import type { NewPet } from '../../src/contract/pets.ts';
import type { Order, Pet } from '../../src/contract/representations.ts';
import type { Resource, Versions } from '../../src/domain/resources.ts';
import { resources } from '../../src/domain/resources.ts';
import type { StoredResponse, Transaction, Units } from '../../src/storage/transaction.ts';
import { nextTurn } from './place.ts';

async function petOf({ pets }: Transaction, id: bigint): Promise<Pet> {
  const pet = await pets.find(id);
  if (pet === undefined) throw new ApiError('pet_not_found');
  return pet;
}

async function changePet(
  transaction: Transaction,
  { id, change }: { id: bigint; change: Partial<NewPet> },
): Promise<Pet> {
  const before = await petOf(transaction, id);
  const after = { ...before, ...change };
  await transaction.pets.replace(before, after);
  return after;
}

export const shopUnits = {
  addPets: {
    writes: ['pets'],
    run: ({ pets }: Transaction, added: readonly NewPet[]) => pets.add(added),
  },
  changePet: { writes: ['pets'], run: changePet },
  removePet: {
    writes: ['pets'],
    run: async (transaction: Transaction, id: bigint) =>
      transaction.pets.remove(await petOf(transaction, id)),
  },
  /** Adds the first animal, removes it, and adds the second one. */
  addInPlaceOf: {
    writes: ['pets'],
    run: async ({ pets }: Transaction, [gone, kept]: readonly [NewPet, NewPet]) => {
      for (const pet of await pets.add([gone])) await pets.remove(pet);
      return pets.add([kept]);
    },
  },
  changeAndRefuse: {
    writes: ['pets'],
    run: async (transaction: Transaction, input: { id: bigint; change: Partial<NewPet> }) => {
      await changePet(transaction, input);
      throw new ApiError('pet_reserved');
    },
  },
  addOrder: {
    writes: ['orders'],
    run: ({ orders }: Transaction, order: Omit<Order, 'id'>) => orders.add(order),
  },
  replaceOrder: {
    writes: ['orders'],
    run: ({ orders }: Transaction, { id, status, updatedAt }: Order) =>
      orders.update(id, { status, updatedAt }),
  },
  findAnswer: {
    writes: [],
    run: async (
      { storedResponses }: Transaction,
      { accountId, key, since }: { accountId: number; key: string; since: number },
    ) => (await storedResponses.find([{ accountId, key }], since))[0],
  },
  keepResponse: {
    writes: [],
    run: ({ storedResponses }: Transaction, { answer, since }: { answer: StoredResponse; since: number }) =>
      storedResponses.keep([answer], since),
  },
} as const satisfies Units;

export type Shop = LimitedStore<typeof shopUnits>;

/** The resources whose versions increase with the change. */
export async function raisedBy(
  { limits }: Pick<LimitedStore, 'limits'>,
  change: () => Promise<unknown>,
): Promise<Resource[]> {
  const versions = async (): Promise<Versions> => {
    await nextTurn();
    return limits.versions();
  };
  const before = await versions();
  await change();
  const after = await versions();
  return resources.filter((resource) => after[resource] > before[resource]);
}

/** The complete list, read in pages. */
export async function walk<Row extends { readonly id: bigint }, After extends bigint | undefined>(
  start: After,
  limit: number,
  list: (after: bigint | After, limit: number) => Promise<Row[]> | Row[],
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let after: bigint | After = start; ; ) {
    const page = await list(after, limit);
    const last = page.at(-1);
    if (last === undefined) return rows;
    rows.push(...page);
    after = last.id;
  }
}
