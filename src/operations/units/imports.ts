import type { NewPet } from '../../contract/pets.ts';
import type { ImportRun } from '../../storage/storage.ts';
import type { Transaction, Units } from '../../storage/transaction.ts';

export const importUnits = {
  commitImport: {
    writes: ['pets'],
    run: (
      { imports }: Transaction,
      { pets, run, fromLine }: { pets: readonly NewPet[]; run?: ImportRun; fromLine?: number },
    ) => imports.commit(pets, run, fromLine),
  },
} as const satisfies Units;
