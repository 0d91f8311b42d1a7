/** Assigns every operation to one of the walk's resources. */
import { mediaTypes } from '../../../src/contract/operation.ts';
import { isRepeatable, type OperationId } from '../../../src/contract/operations.ts';
import type { Chance } from '../generate/chance.ts';
import { mistakesOf } from './mistakes.ts';
import { isRead, type Request, rowOf } from './request.ts';
import type { Resource } from './resource.ts';
import { categories } from './resources/categories.ts';
import { events } from './resources/events.ts';
import { inventory } from './resources/inventory.ts';
import { orders } from './resources/orders.ts';
import { pets } from './resources/pets.ts';
import { rateLimit } from './resources/rate-limit.ts';
import { webhooks } from './resources/webhooks.ts';
import type { RequestInputs } from './scene.ts';

export const resources: readonly Resource[] = [
  pets,
  categories,
  orders,
  inventory,
  events,
  rateLimit,
  webhooks,
];

/** Returns the resource that describes an operation, or throws an error that says where to add the operation. */
export function resourceOf(operationId: OperationId): Resource {
  const resource = resources.find(({ places }) => places[operationId] !== undefined);
  if (resource === undefined)
    throw new Error(`Add ${operationId} to the places of a file in test/stress/walk/resources.`);
  return resource;
}

/** A plain request for the operation, without preconditions, an idempotency key or an error. */
export function plainRequest(inputs: RequestInputs, operationId: OperationId): Request {
  const { chance } = inputs;
  const made = resourceOf(operationId).places[operationId]?.(inputs) as Request;
  const { body } = rowOf(made);
  if (body === undefined) return made;
  return { ...made, type: spelledType(chance.pick(body.types ?? [mediaTypes.json]), chance) };
}

const typeParameters = [
  '',
  '',
  '',
  '; charset=utf-8',
  ';charset=UTF-8',
  '; charset="utf-8"',
  ' ; profile="x"',
];

const spelledType = (type: string, chance: Chance) =>
  chance.pick([type, type, type.replace('json', 'JSON')]) + chance.pick(typeParameters);

/** A request for the operation, to which preconditions, an idempotency key or an error may be added at random. */
export function anyRequest(inputs: RequestInputs, operationId: OperationId): Request {
  const { chance } = inputs;
  const made = plainRequest(inputs, operationId);
  const operation = rowOf(made);
  const request: Request = {
    ...made,
    ...(chance.often(0.08) && { isLimited: true as const }),
    ...(isRead(made) && chance.often(0.1) && { method: 'HEAD' }),
    ...(isRead(made) && operation.reads.length > 0 && chance.often(0.25) && held(inputs, made)),
    ...(operation.preconditions && chance.often(0.3) && { ifMatch: demandedTags(inputs, made) }),
    ...(isRepeatable(operation) &&
      chance.often(0.5) && { idempotencyKey: `${chance.int(0, 2 ** 48)}-${chance.int(0, 999)}` }),
  };
  if (request.refused !== undefined || !chance.often(0.1)) return request;
  return chance.pick(mistakesOf(operation)).make(request, chance);
}

/** The entity tag of the last response for the target, or an unknown tag. */
function held(
  { chance, tags }: RequestInputs,
  { target, isPartly }: Request,
): { noneMatch: readonly string[] } {
  const last = tags.lastOf(target);
  const whatever = [['"other"'], ['*']];
  // The model cannot predict whether other clients have changed the page.
  if (isPartly) return { noneMatch: ['*'] };
  if (last === undefined) return { noneMatch: chance.pick(whatever) };
  return { noneMatch: chance.pick([[last], [last], ['"other"', `W/${last}`], ...whatever]) };
}

/** Repeats a read, conditionally if the client may have cached the first response. */
export function askedAgain(inputs: RequestInputs, { noneMatch: _before, ...request }: Request): Request {
  return { ...request, ...(rowOf(request).reads.length > 0 && held(inputs, request)) };
}

function demandedTags({ chance, tags }: RequestInputs, { current }: Request): readonly string[] {
  const tag = current === undefined ? undefined : tags.of(current);
  const wrong = [['"other"'], ['"other"', '"another"']];
  if (tag === undefined) return chance.pick([...wrong, ['*']]);
  return chance.pick([[tag], [tag], ['"other"', tag], ['*'], [`W/${tag}`], ...wrong]);
}
