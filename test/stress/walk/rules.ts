/** What each change does to the model: the two tables of the contract, and who is refused what, in its order. */
import {
  type Animal,
  categoryText,
  type Order,
  type OrderStatus,
  type Outcome,
  orderText,
  type PetStatus,
  petText,
  type World,
} from './world.ts';

/** What a change is judged with, besides its own words. */
export interface Turn {
  readonly world: World;
  /** What the service chose: the id of what was made, and the time of an order's change. */
  readonly chosen: { readonly id: bigint; readonly at: string };
  /** Whether the request's preconditions hold for a representation; undefined: there is none. */
  readonly meets: (text: string | undefined) => boolean;
}

/** Which status may follow which. */
const followers: Readonly<Record<PetStatus, readonly PetStatus[]>> = {
  available: ['pending', 'sold'],
  pending: ['available', 'sold'],
  sold: ['available'],
};

export const orderSteps = ['approve', 'deliver', 'cancel', 'return'] as const;
export type OrderStep = (typeof orderSteps)[number];

/** The steps an order has, and where they lead. */
export const stepsOf: Readonly<Record<OrderStatus, Readonly<Partial<Record<OrderStep, OrderStatus>>>>> = {
  placed: { approve: 'approved', cancel: 'cancelled' },
  approved: { deliver: 'delivered', cancel: 'cancelled' },
  delivered: { return: 'returned' },
  returned: {},
  cancelled: {},
};

export function refusal(status: number, code: string, mentions: readonly string[] = []): Outcome {
  return { status, error: { code, mentions } };
}

const changed = () => refusal(412, 'precondition_failed');

export function createPet({ world, chosen }: Turn, animal: Omit<Animal, 'id'>): Outcome {
  const added = { id: chosen.id, ...animal };
  world.animals.set(added.id, added);
  return { status: 201, text: petText(added), location: `/v1/pets/${added.id}` };
}

export type PetPatch = Partial<Omit<Animal, 'id'>>;

export function updatePet({ world, meets }: Turn, id: bigint, patch: PetPatch): Outcome {
  const animal = world.animals.get(id);
  if (animal === undefined) return refusal(404, 'pet_not_found');
  if (!meets(petText(animal))) return changed();
  const { status = animal.status } = patch;
  if (status !== animal.status) {
    const order = world.openOrderOf(id);
    if (order !== undefined) return refusal(409, 'pet_reserved', [`order ${order.id}`]);
    const next = followers[animal.status];
    if (!next.includes(status))
      return refusal(409, 'status_transition_not_allowed', [animal.status, ...next]);
  }
  const updated = { ...animal, ...patch };
  world.animals.set(id, updated);
  return { status: 200, text: petText(updated) };
}

export function deletePet({ world, meets }: Turn, id: bigint): Outcome {
  const animal = world.animals.get(id);
  if (animal === undefined) return refusal(404, 'pet_not_found');
  if (!meets(petText(animal))) return changed();
  const order = world.openOrderOf(id);
  if (order !== undefined) return refusal(409, 'pet_reserved', [`order ${order.id}`]);
  world.animals.delete(id);
  return { status: 204, text: '' };
}

export function placeOrder({ world, chosen }: Turn, petId: bigint, reference: string | undefined): Outcome {
  const animal = world.animals.get(petId);
  if (animal === undefined) {
    return { status: 400, error: { code: 'invalid_body', blames: ['body:petId'] } };
  }
  if (animal.status !== 'available') return refusal(409, 'pet_not_available', [animal.status]);
  world.animals.set(petId, { ...animal, status: 'pending' });
  const { id, at } = chosen;
  const order: Order = { id, petId, status: 'placed', reference, createdAt: at, updatedAt: at };
  world.orders.set(id, order);
  return { status: 201, text: orderText(order), location: `/v1/orders/${id}` };
}

export function takeStep({ world, chosen, meets }: Turn, id: bigint, step: OrderStep): Outcome {
  const order = world.orders.get(id);
  if (order === undefined) return refusal(404, 'order_not_found');
  if (!meets(orderText(order))) return changed();
  const has = stepsOf[order.status];
  const status = has[step];
  if (status === undefined) {
    return refusal(409, 'order_transition_not_allowed', [order.status, ...Object.keys(has)]);
  }
  const animal = world.animals.get(order.petId);
  if (animal !== undefined) world.animals.set(animal.id, { ...animal, status: petStatusAfter(step, animal) });
  // A change is never older than the one before.
  const updatedAt = chosen.at < order.updatedAt ? order.updatedAt : chosen.at;
  const taken = { ...order, status, updatedAt };
  world.orders.set(id, taken);
  return { status: 200, text: orderText(taken) };
}

function petStatusAfter(step: OrderStep, { status }: Animal): PetStatus {
  if (step === 'deliver') return 'sold';
  if (step === 'cancel') return 'available';
  return step === 'return' && status === 'sold' ? 'available' : status;
}

export function putCategory({ world, meets }: Turn, id: bigint, name: string): Outcome {
  const before = world.categories.get(id);
  if (!meets(before === undefined ? undefined : categoryText([id, before]))) return changed();
  world.categories.set(id, name);
  return { status: before === undefined ? 201 : 200, text: categoryText([id, name]) };
}

export function deleteCategory({ world, meets }: Turn, id: bigint): Outcome {
  const name = world.categories.get(id);
  if (name === undefined) return refusal(404, 'category_not_found');
  if (!meets(categoryText([id, name]))) return changed();
  world.categories.delete(id);
  return { status: 204, text: '' };
}
