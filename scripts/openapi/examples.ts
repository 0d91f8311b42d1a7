/** Example bodies for the OpenAPI documents, taken from this table or derived from the schemas. */
import * as z from 'zod';
import type { Operation } from '../../src/contract/operation.ts';
import type { OperationId } from '../../src/contract/operations.ts';

interface Example {
  readonly summary?: string;
  readonly value: unknown;
}

interface Examples {
  /** Body of a successful response. */
  readonly success?: unknown;
  /** Request bodies by name. */
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

const webhook = {
  id: 1,
  url: 'https://shop.example/webhooks',
  types: ['order.*'],
  description: 'Warehouse',
  enabled: true,
  createdAt: '2026-11-22T09:30:00.000Z',
};
const issued = { ...webhook, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw6Uf1o0DHRbQ=' };
const delivery = {
  id: 7,
  eventId: 4711,
  type: 'order.placed',
  status: 'pending',
  attempts: [{ at: '2026-11-22T10:15:00.000Z', status: 503, milliseconds: 31 }],
  nextAttemptAt: '2026-11-22T10:15:05.000Z',
};

const examples: Readonly<Partial<Record<OperationId, Examples>>> = {
  listPets: { success: [ozzy, maple] },
  createPet: {
    body: {
      required: { summary: 'Required members', value: { name: 'Ozzy', categoryId: 1 } },
      all: { summary: 'All members', value: { name: 'Maple', categoryId: 7, status: 'sold' } },
    },
  },
  updatePet: {
    success: { ...ozzy, status: 'pending' },
    body: {
      status: { summary: 'Another status', value: { status: 'pending' } },
      several: { summary: 'Several members', value: { name: 'Ozzy II', categoryId: 7 } },
    },
  },
  getInventory: { success: { available: 12, pending: 3, sold: 40 } },
  listCategories: { success: [dogs, { id: 7, name: 'Cats' }] },
  putCategory: { body: { name: { value: { name: 'Dogs' } } } },
  listOrders: { success: [placed, { ...placed, id: 2, petId: 2, status: 'delivered', updatedAt }] },
  approveOrder: { success: { ...placed, status: 'approved', updatedAt } },
  deliverOrder: { success: { ...placed, status: 'delivered', updatedAt } },
  cancelOrder: { success: { ...placed, status: 'cancelled', updatedAt } },
  returnOrder: { success: { ...placed, status: 'returned', updatedAt } },
  listEvents: {
    success: [
      { id: 41, type: 'pet.updated', timestamp: placed.createdAt, data: { ...ozzy, status: 'pending' } },
      { id: 42, type: 'order.placed', timestamp: placed.createdAt, data: placed },
    ],
  },
  createWebhook: { success: issued },
  listWebhooks: { success: [webhook] },
  getWebhook: { success: webhook },
  updateWebhook: {
    success: { ...webhook, enabled: false },
    body: {
      enabled: { summary: 'Stop sending', value: { enabled: false } },
      several: {
        summary: 'Several members',
        value: {
          url: 'https://shop.example/events',
          types: ['order.*', 'webhook.disabled'],
          description: null,
        },
      },
    },
  },
  rotateWebhookSecret: { success: issued },
  testWebhook: { success: { status: 200, milliseconds: 31, body: 'ok' } },
  redeliverEvents: { success: webhook, body: { after: { value: { after: 4710 } } } },
  redeliver: { success: { ...delivery, attempts: [] } },
  listDeliveries: { success: [delivery] },
  getRateLimit: {
    success: {
      plan: 'free',
      minute: { limit: 60, remaining: 59, resetAt: '2026-11-22T09:31:00.000Z' },
      day: { limit: 1_000, remaining: 958, resetAt: '2026-11-23T08:00:00.000Z' },
      bannedUntil: null,
    },
  },
};

/** Returns an example of a successful response. */
export function successExample({ operationId, success: { schema } }: Operation): unknown {
  return examplesOf(operationId).success ?? exampleOf(schema as z.ZodType);
}

/** Returns the example request bodies of the operation, by name. */
export function bodyExamples({ operationId, body }: Operation): Readonly<Record<string, Example>> {
  const { shape } = body?.schema ?? {};
  const members = Object.entries(shape ?? {}) as [string, z.ZodType][];
  if (members.length === 0) return { empty: { value: {} } };
  const valueFrom = (some: typeof members) =>
    Object.fromEntries(some.map(([name, schema]) => [name, exampleOf(schema)]));
  const required = members.filter(([, schema]) => !(schema instanceof z.ZodOptional));
  return (
    examplesOf(operationId).body ?? {
      required: { summary: 'Required members', value: valueFrom(required) },
      ...(required.length < members.length && { all: { summary: 'All members', value: valueFrom(members) } }),
    }
  );
}

function examplesOf(operationId: string): Examples {
  return new Map<string, Examples>(Object.entries(examples)).get(operationId) ?? {};
}

interface Meta {
  readonly examples?: readonly unknown[];
  readonly override?: { readonly examples?: readonly unknown[] };
}

/** Composes an example for a schema from the examples of its properties. Throws if a property has no example. */
function exampleOf(schema: z.ZodType): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable)
    return exampleOf(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodPreprocess) return exampleOf(schema.out as z.ZodType);
  if (schema instanceof z.ZodEnum) return schema.options[0];
  if (schema instanceof z.ZodArray) return [exampleOf(schema.element as z.ZodType)];
  if (schema instanceof z.ZodObject)
    return Object.fromEntries(
      Object.entries(schema.shape).map(([name, member]) => [name, exampleOf(member as z.ZodType)]),
    );
  const { examples: own = [], override } = (schema.meta() ?? {}) as Meta;
  const [example = override?.examples?.[0]] = own;
  if (example === undefined)
    throw new Error('Add an example to the schema, or to its operation in scripts/openapi/examples.ts.');
  return example;
}
