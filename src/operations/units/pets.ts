import type { NewPet, Pet, PetPatch } from '../../contract/pets.ts';
import { mayFollow, statusesAfter } from '../../domain/pet-status.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Transaction, Units } from '../../storage/transaction.ts';
import { type Preconditions, check } from '../preconditions.ts';

export const petUnits = {
  createPet: { writes: ['pets'], all: ({ pets }: Transaction, input: readonly NewPet[]) => pets.add(input) },
  updatePet: { writes: ['pets', 'orders'], run: updatePet },
  deletePet: { writes: ['pets', 'orders'], run: deletePet },
} as const satisfies Units;
