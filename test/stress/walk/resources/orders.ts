import { spelled } from '../../generate/integers.ts';
import { anyName, jsonString } from '../../generate/json-text.ts';
import { listRequest, memberFilters } from '../lists.ts';
import { bodyOf, type Request } from '../request.ts';
import { currentOf, getRequest, type Resource } from '../resource.ts';
import { absentId, type RequestInputs } from '../scene.ts';
import {
  ascending,
  blaming,
  changed,
  type Kind,
  type Outcome,
  refusal,
  type Turn,
  type World,
} from '../world.ts';
import { type Animal, animals, type PetStatus, petIdIn, petText } from './animals.ts';

type OrderStatus = 'placed' | 'approved' | 'delivered' | 'returned' | 'cancelled';

interface Order {
  readonly id: bigint;
  readonly petId: bigint;
  readonly status: OrderStatus;
  readonly reference?: string | undefined;
  /** Timestamp chosen by the service, in the format of its responses. */
  readonly createdAt: string;
  readonly updatedAt: string;
}

function orderText({ id, petId, status, reference, createdAt, updatedAt }: Order): string {
  const named = reference === undefined ? '' : `"reference":${JSON.stringify(reference)},`;
  return `{"id":${id},"petId":${petId},"status":"${status}",${named}"createdAt":"${createdAt}","updatedAt":"${updatedAt}"}`;
}

export const kind: Kind<Order> = { name: 'orders', textOf: orderText };

/** The open order that reserves an animal. */
export function openOrderOf(world: World, petId: bigint): Order | undefined {
  return world
    .all(kind)
    .values()
    .find((order) => order.petId === petId && (order.status === 'placed' || order.status === 'approved'));
}

type OrderStep = 'approve' | 'deliver' | 'cancel' | 'return';

/** Order transitions and the resulting status, by current status. */
const stepsOf: Readonly<Record<OrderStatus, Readonly<Partial<Record<OrderStep, OrderStatus>>>>> = {
  placed: { approve: 'approved', cancel: 'cancelled' },
  approved: { deliver: 'delivered', cancel: 'cancelled' },
  delivered: { return: 'returned' },
  returned: {},
  cancelled: {},
};

function placeOrder({ world, chosen }: Turn, petId: bigint, reference: string | undefined): Outcome {
  const animal = world.all(animals).get(petId);
  if (animal === undefined) return blaming('invalid_body', 'body:petId');
  if (animal.status !== 'available') return refusal(409, 'pet_not_available', [animal.status]);
  changeStatus(world, animal, 'pending');
  const { id, at } = chosen;
  const order: Order = { id, petId, status: 'placed', reference, createdAt: at, updatedAt: at };
  world.all(kind).set(id, order);
  world.record('order.placed', orderText(order));
  return { status: 201, text: orderText(order), location: `/v1/orders/${id}` };
}

function takeStep({ world, chosen, meets }: Turn, id: bigint, step: OrderStep): Outcome {
  const order = world.all(kind).get(id);
  if (order === undefined) return refusal(404, 'order_not_found');
  if (!meets(orderText(order))) return changed;
  const has = stepsOf[order.status];
  const status = has[step];
  if (status === undefined) {
    return refusal(409, 'order_transition_not_allowed', [order.status, ...Object.keys(has)]);
  }
  const animal = world.all(animals).get(order.petId);
  if (animal !== undefined) changeStatus(world, animal, petStatusAfter(step, animal));
  // The time of a change is never earlier than that of the previous change.
  const updatedAt = chosen.at < order.updatedAt ? order.updatedAt : chosen.at;
  const taken = { ...order, status, updatedAt };
  world.all(kind).set(id, taken);
  world.record(`order.${status}`, orderText(taken));
  return { status: 200, text: orderText(taken) };
}

function changeStatus(world: World, animal: Animal, status: PetStatus): void {
  if (status === animal.status) return;
  const changed = { ...animal, status };
  world.all(animals).set(animal.id, changed);
  world.record('pet.updated', petText(changed));
}

function petStatusAfter(step: OrderStep, { status }: Animal): PetStatus {
  if (step === 'deliver') return 'sold';
  if (step === 'cancel') return 'available';
  return step === 'return' && status === 'sold' ? 'available' : status;
}

/** The id of an order, usually one that allows the transition. */
function orderIdIn({ chance, scene: { world } }: RequestInputs, step?: OrderStep): bigint {
  const orders = [...world.all(kind).values()];
  const fit = orders.filter(({ status }) => step !== undefined && stepsOf[status][step] !== undefined);
  const found: Order | undefined =
    fit.length > 0 && chance.often(0.7) ? chance.pick(fit) : chance.pick(orders);
  return found === undefined || chance.often(0.08) ? absentId(chance) : found.id;
}

function placeRequest(inputs: RequestInputs): Request {
  const { chance, scene } = inputs;
  const available = [...scene.world.all(animals).values()].filter(({ status }) => status === 'available');
  const petId = available.length > 0 && chance.often(0.6) ? chance.pick(available).id : petIdIn(inputs);
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

function listOrders(inputs: RequestInputs): Request {
  const { chance, scene } = inputs;
  const orders = [...scene.world.all(kind).values()];
  const known = orders.length > 0 && !scene.isShared && chance.often(0.8) ? chance.pick(orders) : undefined;
  // Filters by an animal that has orders, even if it was deleted.
  const petId = known?.petId ?? petIdIn(inputs);
  return listRequest(inputs, {
    operationId: 'listOrders',
    path: '/orders',
    filters: memberFilters<Order>('listOrders', { ...known, petId }, chance),
    ownBy: ['petId'],
    isMine: (id) => scene.world.all(kind).has(id),
    things: (world) => world.all(kind).values(),
    textOf: orderText,
  });
}

const getOrder = (id: bigint) => getRequest('getOrder', kind, ['/orders', id], 'order_not_found');

function stepRequest(step: OrderStep): (inputs: RequestInputs) => Request {
  return (inputs) => {
    const id = orderIdIn(inputs, step);
    return {
      operationId: `${step}Order`,
      method: 'POST',
      target: `/orders/${id}/${step}`,
      ...(inputs.chance.often(0.2) && bodyOf(inputs.chance, [])),
      ...currentOf(inputs.scene, kind, id),
      act: (turn) => takeStep(turn, id, step),
    };
  };
}

export const orders: Resource = {
  kind,
  places: {
    placeOrder: placeRequest,
    listOrders,
    getOrder: (inputs) => getOrder(orderIdIn(inputs)),
    approveOrder: stepRequest('approve'),
    deliverOrder: stepRequest('deliver'),
    cancelOrder: stepRequest('cancel'),
    returnOrder: stepRequest('return'),
  },
  lists: (world) => [['/orders', ascending(world.all(kind).values()).map(orderText)]],
  endReads: ({ world }) => world.all(kind).keys().map(getOrder),
};
