import { spelled } from '../generate/integers.ts';
import { anyName, jsonString } from '../generate/json-text.ts';
import { listRequest } from './lists.ts';
import { bodyOf, type Request } from './request.ts';
import { type OrderStep, placeOrder, takeStep } from './rules.ts';
import { type Making, orderIdIn, petIdIn } from './scene.ts';
import { type Order, orderStatuses, orderText } from './world.ts';

export function placeOrderRequest(making: Making): Request {
  const { chance, scene } = making;
  const available = [...scene.world.animals.values()].filter(({ status }) => status === 'available');
  const petId = available.length > 0 && chance.often(0.6) ? chance.pick(available).id : petIdIn(making);
  const reference = chance.often(0.4) ? anyName(chance) : undefined;
  return {
    operationId: 'placeOrder',
    method: 'POST',
    target: '/orders',
    ...bodyOf(chance, [
      ['petId', spelled(petId, chance)],
      ...(reference === undefined ? [] : [['reference', jsonString(reference, chance)] as const]),
    ]),
    act: (turn) => placeOrder(turn, petId, reference),
  };
}

export function listOrders(making: Making): Request {
  const { chance, scene } = making;
  const orders = [...scene.world.orders.values()];
  const known = orders.length > 0 && !scene.isShared && chance.often(0.8) ? chance.pick(orders) : undefined;
  const status = known?.status ?? chance.pick(orderStatuses);
  // An animal that has orders, even if it is gone.
  const petId = known?.petId ?? petIdIn(making);
  return listRequest(making, {
    operationId: 'listOrders',
    path: '/orders',
    filters: {
      status: { value: status, admits: (order: Order) => order.status === status },
      petId: { value: String(petId), admits: (order: Order) => order.petId === petId },
    },
    ownBy: ['petId'],
    isMine: (id) => scene.world.orders.has(id),
    things: ({ orders }) => orders.values(),
    textOf: orderText,
  });
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
      ...(making.chance.often(0.2) && bodyOf(making.chance, [])),
      ...(before && { current: orderText(before) }),
      act: (turn) => takeStep(turn, id, step),
    };
  };
}
