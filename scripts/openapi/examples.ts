/** The example bodies of the OpenAPI document, by operation. */
import type { Operation } from '../../src/contract/operation.ts';
import type { OperationId } from '../../src/contract/operations.ts';

interface Example {
  readonly summary?: string;
  readonly value: unknown;
}

interface Examples {
  /** A success; none for an operation without a body in its response. */
  readonly success?: unknown;
  /** What may be sent, by a word for it; none for an operation without members in its request. */
  readonly body?: Readonly<Record<string, Example>>;
}

const ozzy = { id: 1, name: 'Ozzy', categoryId: 1, status: 'available' };
const maple = { id: 2, name: 'Maple', categoryId: 7, status: 'sold' };
const dogs = { id: 1, name: 'Dogs' };
const placed = {
  id: 1,
  petId: 1,
  status: 'placed',
  reference: 'cart-1042',
  createdAt: '2026-11-22T09:30:00.000Z',
  updatedAt: '2026-11-22T09:30:00.000Z',
};
const updatedAt = '2026-11-22T10:15:00.000Z';

const examples: Readonly<Partial<Record<OperationId, Examples>>> = {
  listPets: { success: [ozzy, maple] },
  createPet: {
    success: ozzy,
    body: {
      required: { summary: 'Required members', value: { name: 'Ozzy', categoryId: 1 } },
      all: { summary: 'All members', value: { name: 'Maple', categoryId: 7, status: 'sold' } },
    },
  },
  getPet: { success: ozzy },
  updatePet: {
    success: { ...ozzy, status: 'pending' },
    body: {
      status: { summary: 'Another status', value: { status: 'pending' } },
      several: { summary: 'Several members', value: { name: 'Ozzy II', categoryId: 7 } },
    },
  },
  getInventory: { success: { available: 12, pending: 3, sold: 40 } },
  listCategories: { success: [dogs, { id: 7, name: 'Cats' }] },
  getCategory: { success: dogs },
  putCategory: { success: dogs, body: { name: { value: { name: 'Dogs' } } } },
  placeOrder: {
    success: placed,
    body: {
      required: { summary: 'Required members', value: { petId: 1 } },
      all: { summary: 'All members', value: { petId: 1, reference: 'cart-1042' } },
    },
  },
  listOrders: { success: [placed, { ...placed, id: 2, petId: 2, status: 'delivered', updatedAt }] },
  getOrder: { success: placed },
  approveOrder: { success: { ...placed, status: 'approved', updatedAt } },
  deliverOrder: { success: { ...placed, status: 'delivered', updatedAt } },
  cancelOrder: { success: { ...placed, status: 'cancelled', updatedAt } },
  returnOrder: { success: { ...placed, status: 'returned', updatedAt } },
  getRateLimit: {
    success: {
      plan: 'free',
      minute: { limit: 60, remaining: 59, resetAt: '2026-11-22T09:31:00.000Z' },
      day: { limit: 1_000, remaining: 958, resetAt: '2026-11-23T08:00:00.000Z' },
      bannedUntil: null,
    },
  },
};

/** A success of the operation. Throws, saying what to add, when there is none. */
export function successExample({ operationId }: Operation): unknown {
  const success = examplesOf(operationId)?.success;
  if (success === undefined) throw new Error(missing(operationId, 'success', 'a success'));
  return success;
}

/** What the operation may be sent, by a word for it. Throws, saying what to add, when there is none. */
export function bodyExamples({ operationId, body }: Operation): Readonly<Record<string, Example>> {
  if (body !== undefined && Object.keys(body.schema.shape).length === 0) return { empty: { value: {} } };
  const sent = examplesOf(operationId)?.body;
  if (sent === undefined || Object.keys(sent).length === 0)
    throw new Error(missing(operationId, 'body', 'a body'));
  return sent;
}

function examplesOf(operationId: string): Examples | undefined {
  return new Map<string, Examples>(Object.entries(examples)).get(operationId);
}

function missing(operationId: string, member: keyof Examples, what: string): string {
  return `Add an example of ${what} of ${operationId}, as its \`${member}\`, to scripts/openapi/examples.ts.`;
}
