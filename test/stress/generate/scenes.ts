/** For every operation: requests that succeed, on resources of their own, so that it is known what they have to answer. */
import type { OperationId } from '../../../src/contract/operations.ts';
import { deleteCategory, getCategory, listCategories, putCategory } from './category-scenes.ts';
import {
  approveOrder,
  cancelOrder,
  deliverOrder,
  getOrder,
  listOrders,
  placeOrder,
  returnOrder,
} from './order-scenes.ts';
import { createPet, deletePet, getInventory, getPet, listPets, updatePet } from './pet-scenes.ts';
import type { Stage } from './stage.ts';

/** A new operation gets its line here. */
export const scenes: Readonly<Record<OperationId, (stage: Stage) => Promise<void>>> = {
  listPets,
  createPet,
  getPet,
  updatePet,
  deletePet,
  getInventory,
  listCategories,
  getCategory,
  putCategory,
  deleteCategory,
  placeOrder,
  listOrders,
  getOrder,
  approveOrder,
  deliverOrder,
  cancelOrder,
  returnOrder,
  getRateLimit: async (stage) => {
    await stage.call('getRateLimit', 200);
  },
};
