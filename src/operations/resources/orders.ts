import { ApiError } from '../../contract/api-error.ts';
import type { orderOperations } from '../../contract/orders.ts';
import { type Order, orderJson, type Pet, petJson } from '../../contract/representations.ts';
import { andThen } from '../../domain/awaitable.ts';
import {
  allowedTransitions,
  type OrderTransition,
  petStatusAfter,
  statusAfter,
} from '../../domain/order-status.ts';
import type { Transaction } from '../../storage/transaction.ts';
import type { NewEvent } from '../../tables/events.ts';
import { defineSubject } from '../changes/audited-unit.ts';
import { checkPreconditions } from '../changes/preconditions.ts';
import { expectFound, invalidMemberError } from '../errors.ts';
import { readPage } from './pages.ts';
import type { OperationReaders, OperationUnits } from './rows.ts';

export const orderReaders = {
  listOrders: ({ orders }, { query }) =>
    readPage(query, {
      path: '/orders',
      read: (after = 0n, limit, filter) => orders.list(after, limit, filter),
    }),
  getOrder: ({ orders }, { params }) =>
    andThen(orders.find(params.orderId), (order) => expectFound(order, 'order_not_found')),
} satisfies OperationReaders<typeof orderOperations>;

type OrderUnits = OperationUnits<typeof orderOperations>;

const subject = defineSubject('order', ({ orders }, id) => orders.find(BigInt(id)), orderJson);

const writes = ['pets', 'orders'] as const;

const createTransitionUnit = (step: OrderTransition) =>
  ({
    writes,
    subject: subject.byParam('orderId'),
    run: async (transaction, { params, preconditions, now }) => {
      const { pets, orders } = transaction;
      const order = expectFound(await orders.find(params.orderId), 'order_not_found');
      checkPreconditions(preconditions, orderJson(order));
      const status = statusAfter(order.status, step);
      if (status === undefined) throw transitionError(order, step);
      const pet = await pets.find(order.petId);
      const petStatus = pet && petStatusAfter(step, pet.status);
      if (pet !== undefined && petStatus !== undefined)
        await changePet(transaction, pet, { ...pet, status: petStatus }, now);
      // The clock may have been set back since the last change.
      const changed = { ...order, status, updatedAt: Math.max(now, order.updatedAt) };
      await orders.update(order.id, { status, updatedAt: changed.updatedAt });
      transaction.events.add(toEvent(changed, now));
      return changed;
    },
  }) as const satisfies OrderUnits['approveOrder'];

export const orderUnits = {
  placeOrder: {
    writes,
    subject: subject.made,
    run: async (transaction, { body: { petId, reference }, now }) => {
      const pet = await transaction.pets.find(petId);
      if (pet === undefined) throw invalidMemberError('petId', 'is not the id of an animal');
      if (pet.status !== 'available') {
        throw new ApiError('pet_not_available', {
          message: `The animal is "${pet.status}". Only an available animal can be ordered.`,
        });
      }
      await changePet(transaction, pet, { ...pet, status: 'pending' }, now);
      const placed = { petId, status: 'placed', reference, createdAt: now, updatedAt: now } as const;
      const order = await transaction.orders.add(placed);
      transaction.events.add(toEvent(order, now));
      return order;
    },
  },
  approveOrder: createTransitionUnit('approve'),
  deliverOrder: createTransitionUnit('deliver'),
  cancelOrder: createTransitionUnit('cancel'),
  returnOrder: createTransitionUnit('return'),
} as const satisfies OrderUnits;

async function changePet(
  { pets, events }: Transaction,
  before: Pet,
  after: Pet,
  createdAt: number,
): Promise<void> {
  await pets.replace(before, after);
  events.add({ type: 'pet.updated', data: petJson(after), createdAt });
}

function toEvent(order: Order, createdAt: number): NewEvent {
  return { type: `order.${order.status}`, data: orderJson(order), createdAt };
}

const transitionVerbs: Readonly<Record<OrderTransition, string>> = {
  approve: 'approved',
  deliver: 'delivered',
  cancel: 'cancelled',
  return: 'returned',
};

function transitionError({ status }: Order, step: OrderTransition): ApiError {
  const allowed = allowedTransitions(status).join(', ') || 'none';
  return new ApiError('order_transition_not_allowed', {
    message: `The order is ${status} and cannot be ${transitionVerbs[step]}. Allowed: ${allowed}.`,
  });
}
