/**
 * The JSON of resources, and the responses of changes. Separate from the schemas, because the thread that writes to the
 * store needs only this. Integers are exact, and members are in the order of the contract.
 */
import type { DeliveryStatus } from '../domain/delivery-status.ts';
import type { EventSelector, EventType } from '../domain/event-type.ts';
import type { OrderStatus } from '../domain/order-status.ts';
import type { PetStatus } from '../domain/pet-status.ts';
import type { Response } from './operation.ts';

export interface Pet {
  readonly id: bigint;
  readonly name: string;
  readonly categoryId: bigint;
  readonly status: PetStatus;
}

export function petJson(pet: Pet): string {
  return `{"id":${pet.id}${petJsonWithoutId(pet)}`;
}

/** Formats an animal as JSON without its id, for an SQL statement that assigns the id. */
export function petJsonWithoutId({ name, categoryId, status }: Omit<Pet, 'id'>): string {
  return `,"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}

/** An order. Times are Unix ms. */
export interface Order {
  readonly id: bigint;
  readonly petId: bigint;
  readonly status: OrderStatus;
  readonly reference?: string | undefined;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export function orderJson({ id, petId, status, reference, createdAt, updatedAt }: Order): string {
  const named = reference === undefined ? '' : `"reference":${JSON.stringify(reference)},`;
  const [created, updated] = [new Date(createdAt).toISOString(), new Date(updatedAt).toISOString()];
  return `{"id":${id},"petId":${petId},"status":"${status}",${named}"createdAt":"${created}","updatedAt":"${updated}"}`;
}

export interface Category {
  readonly id: bigint;
  readonly name: string;
}

export interface PutCategoryResult {
  readonly category: Category;
  readonly isNew: boolean;
}

export function categoryJson({ id, name }: Category): string {
  return `{"id":${id},"name":${JSON.stringify(name)}}`;
}

export interface EventRepresentation {
  readonly id: bigint;
  readonly type: EventType;
  /** The resource as JSON. */
  readonly data: string;
  /** Account that may read the event; null if all accounts may read it. */
  readonly accountId: number | null;
  /** Unix ms. */
  readonly createdAt: number;
}

export function eventJson({ id, type, data, createdAt }: EventRepresentation): string {
  return `{"id":${id},"type":"${type}","timestamp":"${new Date(createdAt).toISOString()}","data":${data}}`;
}

export interface PetsImported {
  readonly count: number;
  readonly firstId: bigint;
  readonly lastId: bigint;
}

export function importedJson({ count, firstId, lastId }: PetsImported): string {
  return `{"count":${count},"firstId":${firstId},"lastId":${lastId}}`;
}

/** A webhook. Times are Unix ms. */
export interface Webhook {
  readonly id: bigint;
  readonly url: string;
  readonly types: readonly EventSelector[];
  readonly description?: string | undefined;
  readonly enabled: boolean;
  readonly disabledReason?: string | undefined;
  readonly createdAt: number;
}

interface IssuedWebhook extends Webhook {
  readonly secret: string;
}

export function webhookJson({ id, url, types, description, enabled, ...others }: Webhook): string {
  const { disabledReason, createdAt } = others;
  const members = JSON.stringify({ url, types, description, enabled, disabledReason });
  return `{"id":${id},${members.slice(1, -1)},"createdAt":"${new Date(createdAt).toISOString()}"}`;
}

function issuedWebhookJson(webhook: IssuedWebhook): string {
  return `${webhookJson(webhook).slice(0, -1)},"secret":${JSON.stringify(webhook.secret)}}`;
}

/** A request to a receiver. */
export interface DeliveryAttempt {
  /** RFC 3339 (UTC). */
  readonly at: string;
  readonly status?: number;
  readonly milliseconds: number;
  readonly error?: string;
}

export interface Delivery {
  readonly id: bigint;
  readonly eventId: bigint;
  readonly type: EventType;
  readonly status: DeliveryStatus;
  /** `DeliveryAttempt[]` as JSON. */
  readonly attempts: string;
  /** Unix ms. */
  readonly nextAttemptAt?: number | undefined;
}

export function deliveryJson({ id, eventId, type, status, attempts, nextAttemptAt }: Delivery): string {
  const next =
    nextAttemptAt === undefined ? '' : `,"nextAttemptAt":"${new Date(nextAttemptAt).toISOString()}"`;
  return `{"id":${id},"eventId":${eventId},"type":"${type}","status":"${status}","attempts":${attempts}${next}}`;
}

const order: Response<Order> = { statusOf: () => 200, json: orderJson };

/** How the outcome of each repeatable operation (`isRepeatable`) becomes a response. */
export const repeatableResponses = {
  createPet: { statusOf: () => 201, json: petJson, location: ({ id }) => `/pets/${id}` } as Response<Pet>,
  placeOrder: {
    statusOf: () => 201,
    json: orderJson,
    location: ({ id }) => `/orders/${id}`,
  } as Response<Order>,
  approveOrder: order,
  deliverOrder: order,
  cancelOrder: order,
  returnOrder: order,
  createWebhook: {
    statusOf: () => 201,
    json: issuedWebhookJson,
    location: ({ id }) => `/webhooks/${id}`,
  } as Response<IssuedWebhook>,
  rotateWebhookSecret: { statusOf: () => 200, json: issuedWebhookJson } as Response<IssuedWebhook>,
  redeliverEvents: { statusOf: () => 202, json: webhookJson } as Response<Webhook>,
  redeliver: { statusOf: () => 202, json: deliveryJson } as Response<Delivery>,
} as const;

export type RepeatableId = keyof typeof repeatableResponses;
