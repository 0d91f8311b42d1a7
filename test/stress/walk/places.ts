/** The place of every operation in the walk. */
import { type Operation, type OperationId, operations } from '../../../src/contract/operations.ts';
import { deleteCategoryRequest, getCategory, listCategories, putCategoryRequest } from './make-categories.ts';
import { getOrder, listOrders, placeOrderRequest, stepRequest } from './make-orders.ts';
import {
  createPetRequest,
  deletePetRequest,
  getInventory,
  getPet,
  listPets,
  updatePetRequest,
} from './make-pets.ts';
import { mistaken } from './mistakes.ts';
import { isRead, type Request } from './request.ts';
import type { Making } from './scene.ts';

interface Place {
  /** How often it is asked for, beside the others. */
  readonly weight: number;
  readonly make: (making: Making) => Request;
}

const places: Readonly<Record<OperationId, Place>> = {
  listPets: { weight: 10, make: listPets },
  createPet: { weight: 8, make: createPetRequest },
  getPet: { weight: 5, make: getPet },
  updatePet: { weight: 12, make: updatePetRequest },
  deletePet: { weight: 5, make: deletePetRequest },
  getInventory: { weight: 6, make: getInventory },
  listCategories: { weight: 4, make: listCategories },
  getCategory: { weight: 4, make: getCategory },
  putCategory: { weight: 5, make: putCategoryRequest },
  deleteCategory: { weight: 5, make: deleteCategoryRequest },
  placeOrder: { weight: 14, make: placeOrderRequest },
  listOrders: { weight: 6, make: listOrders },
  getOrder: { weight: 4, make: getOrder },
  approveOrder: { weight: 10, make: stepRequest('approve') },
  deliverOrder: { weight: 9, make: stepRequest('deliver') },
  cancelOrder: { weight: 6, make: stepRequest('cancel') },
  returnOrder: { weight: 9, make: stepRequest('return') },
  getRateLimit: { weight: 2, make: getRateLimit },
};

/** A request of any operation, about the scene. */
export function anyRequest(making: Making): Request {
  const { chance } = making;
  const rows = Object.entries(places).flatMap(([id, { weight }]) => Array<string>(weight).fill(id));
  const operationId = chance.pick(rows) as OperationId;
  return adorned(making, places[operationId].make(making), operations[operationId]);
}

/** The request with what it may carry besides: conditions, a key that makes it repeatable, a mistake. */
function adorned(making: Making, made: Request, operation: Operation): Request {
  const { chance } = making;
  const request: Request = {
    ...made,
    ...(chance.often(0.08) && { isLimited: true as const }),
    ...(isRead(made) && chance.often(0.1) && { method: 'HEAD' }),
    ...(isRead(made) && operation.reads.length > 0 && chance.often(0.25) && held(making, made)),
    ...(operation.preconditions && chance.often(0.3) && { ifMatch: demandedTags(making, made) }),
    ...(operation.method === 'POST' &&
      chance.often(0.5) && { idempotencyKey: `${chance.int(0, 2 ** 48)}-${chance.int(0, 999)}` }),
  };
  return chance.often(0.06) ? mistaken(chance, request, operation) : request;
}

/** The tag that its answer had the last time, or one that it never had. */
function held({ chance, tags }: Making, { target, isPartly }: Request): { noneMatch: readonly string[] } {
  const last = tags.lastOf(target);
  const whatever = [['"other"'], ['*']];
  // Whether a page that others change is the same as before the model cannot say.
  if (isPartly) return { noneMatch: ['*'] };
  if (last === undefined) return { noneMatch: chance.pick(whatever) };
  return { noneMatch: chance.pick([[last], [last], ['"other"', `W/${last}`], ...whatever]) };
}

/** A read that was sent before, by a client that has its answer still. */
export function askedAgain(making: Making, { noneMatch: _before, ...request }: Request): Request {
  return { ...request, ...(operations[request.operationId].reads.length > 0 && held(making, request)) };
}

function demandedTags({ chance, tags }: Making, { current }: Request): readonly string[] {
  const tag = current === undefined ? undefined : tags.of(current);
  const wrong = [['"other"'], ['"other"', '"another"']];
  if (tag === undefined) return chance.pick([...wrong, ['*']]);
  return chance.pick([[tag], [tag], ['"other"', tag], ['*'], [`W/${tag}`], ...wrong]);
}

const rateLimitForm =
  /^\{"plan":"enterprise","minute":(\{.*\}),"day":\{"limit":1000000000,"remaining":\d+,"resetAt":"[^"]+"\},"bannedUntil":null\}$/;

function getRateLimit(): Request {
  const matches = (text: string) => (rateLimitForm.test(text) ? undefined : `the limits are ${text}`);
  return {
    operationId: 'getRateLimit',
    method: 'GET',
    target: '/rate-limit',
    act: () => ({ status: 200, matches }),
  };
}
