import { type NewOrder, type Order, orderJson } from '../../contract/orders.ts';
import { next, type OrderStep, petStatusAfter, stepsOf } from '../../domain/order-status.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Transaction, Units } from '../../storage/transaction.ts';
import { check, type Preconditions } from '../preconditions.ts';

interface StepInput {
  readonly params: { readonly orderId: bigint };
  readonly preconditions: Preconditions;
  /** Unix ms. */
  readonly now: number;
}

/** An order and the animal it holds change together. */
const writes = ['pets', 'orders'] as const;

export const orderUnits = {
  placeOrder: { writes, run: placeOrder },
  approveOrder: { writes, run: taking('approve') },
  deliverOrder: { writes, run: taking('deliver') },
  cancelOrder: { writes, run: taking('cancel') },
  returnOrder: { writes, run: taking('return') },
} as const satisfies Units;

async function placeOrder(
  { pets, orders }: Transaction,
  { body, now }: { readonly body: NewOrder; readonly now: number },
): Promise<Order> {
  const { petId, reference } = body;
  const pet = await pets.find(petId);
  if (pet === undefined) throw noSuchPet();
  if (pet.status !== 'available') {
    throw new Refusal('pet_not_available', {
      message: `The animal is "${pet.status}". Only an available animal can be ordered.`,
    });
  }
  await pets.replace(pet, { ...pet, status: 'pending' });
  return orders.add({ petId, status: 'placed', reference, createdAt: now, updatedAt: now });
}

function taking(step: OrderStep) {
  return (transaction: Transaction, input: StepInput) => take(step, transaction, input);
}

/** Takes an order one step on, and its animal with it. */
async function take(
  step: OrderStep,
  { pets, orders }: Transaction,
  { params, preconditions, now }: StepInput,
): Promise<Order> {
  const order = await orders.find(params.orderId);
  if (order === undefined) throw new Refusal('order_not_found');
  check(preconditions, orderJson(order));
  const status = next(order.status, step);
  if (status === undefined) throw notAllowed(order, step);
  const pet = await pets.find(order.petId);
  const petStatus = pet && petStatusAfter(step, pet.status);
  if (pet !== undefined && petStatus !== undefined) await pets.replace(pet, { ...pet, status: petStatus });
  // The clock of the process that asks may have been set back since.
  const changed = { ...order, status, updatedAt: Math.max(now, order.updatedAt) };
  await orders.replace(changed);
  return changed;
}

function noSuchPet(): Refusal {
  const message = 'is the id of no animal';
  return new Refusal('invalid_body', {
    message: `The request body is invalid: petId ${message}.`,
    details: [{ in: 'body', name: 'petId', message }],
  });
}

function notAllowed({ status }: Order, step: OrderStep): Refusal {
  const steps = stepsOf(status);
  const has =
    steps.length === 0
      ? 'This status is final.'
      : `It has the ${steps.length === 1 ? 'step' : 'steps'} ${steps.join(' and ')}.`;
  return new Refusal('order_transition_not_allowed', {
    message: `The order is ${status}, which does not have the step ${step}. ${has}`,
  });
}
