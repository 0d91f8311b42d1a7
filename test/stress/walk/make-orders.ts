import { anyName } from '../generate/names.ts';
import { listRequest } from './lists.ts';
import { objectText } from './make-pets.ts';
import type { Request } from './request.ts';
import { type OrderStep, placeOrder, takeStep } from './rules.ts';
import { type Making, orderIdIn, petIdIn } from './scene.ts';
import { ascending, type Order, orderStatuses, orderText } from './world.ts';

export function placeOrderRequest(making: Making): Request {
  const { chance, scene } = making;
  const available = [...scene.world.animals.values()].filter(({ status }) => status === 'available');
  const petId = available.length > 0 && chance.often(0.6) ? chance.pick(available).id : petIdIn(making);
  const reference = chance.often(0.4) ? anyName(chance) : undefined;
  return {
    operationId: 'placeOrder',
    method: 'POST',
    target: '/orders',
    body: objectText(chance, {
      petId: `${petId}`,
      reference: reference === undefined ? undefined : JSON.stringify(reference),
    }),
    act: (turn) => placeOrder(turn, petId, reference),
  };
}

export function listOrders(making: Making): Request {
  const { chance, scene } = making;
  const status = chance.often(0.4) ? chance.pick(orderStatuses) : undefined;
  const petId = scene.isShared || chance.often(0.6) ? orderedPetIn(making) : undefined;
  const belongs = (order: Order) =>
    (status === undefined || order.status === status) && (petId === undefined || order.petId === petId);
  return listRequest(making, {
    operationId: 'listOrders',
    path: '/orders',
    filters: { ...(status && { status }), ...(petId !== undefined && { petId: `${petId}` }) },
    items: ({ orders }) =>
      ascending(orders.values())
        .filter(belongs)
        .map((order) => ({ id: order.id, text: orderText(order) })),
    ...(petId === undefined && { isMine: (id: bigint) => scene.world.orders.has(id) }),
    textOf: orderText,
  });
}

/** An animal that has orders, even if it is gone. */
function orderedPetIn(making: Making): bigint {
  const orders = [...making.scene.world.orders.values()];
  if (making.scene.isShared || orders.length === 0 || making.chance.often(0.2)) return petIdIn(making);
  return making.chance.pick(orders).petId;
}

export function getOrder(making: Making): Request {
  const id = orderIdIn(making);
  return {
    operationId: 'getOrder',
    method: 'GET',
    target: `/orders/${id}`,
    act: ({ world }) => {
      const order = world.orders.get(id);
      if (order !== undefined) return { status: 200, text: orderText(order) };
      return { status: 404, error: { code: 'order_not_found' } };
    },
  };
}

export function stepRequest(step: OrderStep): (making: Making) => Request {
  return (making) => {
    const id = orderIdIn(making, step);
    const before = making.scene.world.orders.get(id);
    return {
      operationId: `${step}Order`,
      method: 'POST',
      target: `/orders/${id}/${step}`,
      ...(making.chance.often(0.2) && { body: '{}' }),
      ...(before && { current: orderText(before) }),
      act: (turn) => takeStep(turn, id, step),
    };
  };
}
