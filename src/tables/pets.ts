import type { PetStatus } from '../contract/pets.ts';
import { petStatuses } from '../domain/pet-status.ts';
import { int64, oneOf, table, text } from './table.ts';

export const pets = table(
  'pets',
  { id: int64, name: text, categoryId: int64, status: oneOf<PetStatus>(petStatuses) },
  {
    isCounted: true,
    indexes: [['status'], ['categoryId', 'status']],
    filters: ['status', 'categoryId'],
    resource: 'pets',
  },
);
