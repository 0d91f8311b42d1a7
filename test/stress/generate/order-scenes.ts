import type { OrderStatus } from '../../../src/contract/orders.ts';
import { same } from '../failures.ts';
import { spelled } from './integers.ts';
import { anyName, jsonString } from './names.ts';
import { petText } from './requests.ts';
import type { Stage, StoredPet } from './stage.ts';

interface StoredOrder {
  readonly id: bigint;
  readonly pet: StoredPet;
  readonly reference: string | undefined;
  readonly text: string;
  readonly etag: string;
}

const steps = {
  approveOrder: { after: 'approved', petStatus: 'pending' },
  deliverOrder: { after: 'delivered', petStatus: 'sold' },
  cancelOrder: { after: 'cancelled', petStatus: 'available' },
  returnOrder: { after: 'returned', petStatus: 'available' },
} as const;
type Step = keyof typeof steps;

/** An order of an animal of its own. */
async function place(stage: Stage): Promise<StoredOrder> {
  const { chance } = stage;
  const pet = await stage.pet({ status: 'available' });
  const reference = chance.often(0.7) ? anyName(chance) : undefined;
  const members: [string, string][] = [['petId', spelled(pet.id, chance)]];
  if (reference !== undefined) members.push(['reference', jsonString(reference, chance)]);
  const { text, headers } = await stage.post('placeOrder', 201, { members });
  const id = BigInt(/^\{"id":(\d+),/.exec(text)?.[1] ?? -1);
  same('the Location of an order', headers.get('location'), `/v1/orders/${id}`);
  const order = { id, pet, reference, text, etag: headers.get('etag') ?? '' };
  checkOrder(order, 'placed');
  return order;
}

function checkOrder({ id, pet, reference, text }: StoredOrder, status: OrderStatus): void {
  const named = reference === undefined ? '' : `"reference":${JSON.stringify(reference)},`;
  const start = `{"id":${id},"petId":${pet.id},"status":"${status}",${named}"createdAt":"`;
  same(`the start of an order`, text.slice(0, start.length), start);
}

async function take(stage: Stage, step: Step, order: StoredOrder): Promise<StoredOrder> {
  const { id, pet, etag } = order;
  const headers = stage.condition(etag) ?? [];
  const answer = await stage.post(step, 200, { params: { orderId: id }, headers });
  const taken = { ...order, text: answer.text, etag: answer.headers.get('etag') ?? '' };
  checkOrder(taken, steps[step].after);
  await stage.read('getPet', petText(pet.id, { ...pet, status: steps[step].petStatus }), {
    params: { petId: pet.id },
  });
  return taken;
}

/** The steps before it, and then the one; the same once more is refused. */
function taking(step: Step, before: readonly Step[]) {
  return async (stage: Stage): Promise<void> => {
    let order = await place(stage);
    for (const one of [...before, step]) order = await take(stage, one, order);
    await stage.call(step, 409, { params: { orderId: order.id } });
  };
}

export const approveOrder = taking('approveOrder', []);
export const deliverOrder = taking('deliverOrder', ['approveOrder']);
export const returnOrder = taking('returnOrder', ['approveOrder', 'deliverOrder']);

export async function cancelOrder(stage: Stage): Promise<void> {
  await taking('cancelOrder', stage.chance.often(0.5) ? ['approveOrder'] : [])(stage);
}

/** While it holds its animal, nobody else gets that, and it stays. */
export async function placeOrder(stage: Stage): Promise<void> {
  const { pet } = await place(stage);
  const members = [['petId', String(pet.id)]] as const;
  await stage.call('placeOrder', 409, { members });
  await stage.call('deletePet', 409, { params: { petId: pet.id } });
}

export async function getOrder(stage: Stage): Promise<void> {
  const { id, text } = await place(stage);
  await stage.read('getOrder', text, { params: { orderId: id } });
}

export async function listOrders(stage: Stage): Promise<void> {
  const { chance } = stage;
  const { pet, text } = await place(stage);
  const query: [string, string][] = [['petId', String(pet.id)]];
  const status = chance.pick([undefined, 'placed', 'returned']);
  if (status !== undefined) query.push(['status', status]);
  await stage.read('listOrders', status === 'returned' ? '[]' : `[${text}]`, { query });
}
