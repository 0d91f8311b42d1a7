/** Operations that clients and operators share. Register new resources here. */
import type { sharedOperations } from '../../contract/operations.ts';
import { categoryReaders, categoryUnits } from './categories.ts';
import { orderReaders, orderUnits } from './orders.ts';
import { petReaders, petUnits } from './pets.ts';
import type { OperationReaders, OperationUnits } from './rows.ts';

export const sharedReaders: OperationReaders<typeof sharedOperations> = {
  ...petReaders,
  ...categoryReaders,
  ...orderReaders,
};

export const sharedUnits = { ...petUnits, ...categoryUnits, ...orderUnits } as const satisfies OperationUnits<
  typeof sharedOperations
>;
