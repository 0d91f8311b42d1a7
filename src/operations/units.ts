import type { Storage } from '../storage/storage.ts';
import type { Units, Writer } from '../storage/transaction.ts';
import { accountUnits } from './units/accounts.ts';
import { categoryUnits } from './units/categories.ts';
import { importUnits } from './units/imports.ts';
import { keyUnits } from './units/keys.ts';
import { orderUnits } from './units/orders.ts';
import { petUnits } from './units/pets.ts';

/** Every change of the store, as a function of a transaction. Each is run where the store is written. */
export const units = {
  ...petUnits,
  ...categoryUnits,
  ...orderUnits,
  ...accountUnits,
  ...keyUnits,
  ...importUnits,
} as const satisfies Units;

/** What runs them. */
export type Writes = Writer<typeof units>;

/** A store that has them. */
export type Store = Storage<typeof units>;
