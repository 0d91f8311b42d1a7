/** Requests of any operation, as its row in the contract has it. */
import { mediaTypes } from '../../../src/contract/operation.ts';
import { type Operation, type OperationId, operations } from '../../../src/contract/operations.ts';
import type { Chance } from './chance.ts';
import { encoded, type HttpRequest } from './http.ts';
import { anyInt64, spelled } from './integers.ts';
import { anyName, jsonString } from './names.ts';
import { head, type Known, objectOf, statuses } from './requests.ts';

/** The members of a body, each as JSON. */
export type Members = readonly (readonly [name: string, json: string])[];

/** What a request is about; what is left out is right, but need not be there. */
export interface Particulars {
  readonly params?: Readonly<Record<string, bigint>>;
  readonly query?: readonly (readonly [name: string, value: string])[];
  readonly members?: Members;
  readonly headers?: readonly (readonly [name: string, value: string])[];
}

const name = (chance: Chance) => ['name', jsonString(anyName(chance), chance)] as const;
const categoryId = (chance: Chance) => ['categoryId', spelled(anyInt64(chance), chance)] as const;
const status = (chance: Chance) => ['status', JSON.stringify(chance.pick(statuses))] as const;
const some = (chance: Chance, members: Members): Members => members.filter(() => chance.often(0.5));

/** The members of every body there is; an operation that gets a body needs its line here. */
export const anyMembers: Readonly<Partial<Record<OperationId, (chance: Chance) => Members>>> = {
  createPet: (chance) => [name(chance), categoryId(chance), ...some(chance, [status(chance)])],
  updatePet: (chance) => some(chance, [name(chance), categoryId(chance), status(chance)]),
  putCategory: (chance) => [name(chance)],
  placeOrder: (chance) => [
    ['petId', spelled(anyInt64(chance), chance)],
    ...some(chance, [['reference', jsonString(anyName(chance), chance)]]),
  ],
  approveOrder: () => [],
  deliverOrder: () => [],
  cancelOrder: () => [],
  returnOrder: () => [],
};

export function requestOf(
  operationId: OperationId,
  chance: Chance,
  known: Known,
  { params = {}, query = [], members, headers = [] }: Particulars = {},
): HttpRequest {
  const { method, path, body }: Operation = operations[operationId];
  const target = path.replace(/\{(\w+)\}/g, (_, parameter: string) =>
    encoded(String(params[parameter] ?? anyInt64(chance)), chance),
  );
  const parameters = chance
    .shuffled(query)
    .map(([parameter, value]) => `${encoded(parameter, chance)}=${value}`);
  const request = {
    method,
    target: parameters.length === 0 ? target : `${target}?${parameters.join('&')}`,
    headers: [...head(chance, known).headers, ...headers],
  };
  const isLeftOut = body?.optional === true && members === undefined && chance.often(0.5);
  if (body === undefined || isLeftOut) return request;
  const type = chance.pick(body.types ?? [mediaTypes.json]);
  const text = objectOf(chance, members ?? anyMembers[operationId]?.(chance) ?? []);
  return {
    ...request,
    headers: chance.shuffled([...request.headers, ['Content-Type', type] as const]),
    body: Buffer.from(text),
    ...(chance.often(0.15) && { chunks: [chance.int(1, 40), chance.int(1, 400)] }),
  };
}
