/** Bodies of the operations beyond createPet with one member wrong. */
import { allOperations, type OperationId } from '../../../src/contract/operations.ts';
import type { Chance } from './chance.ts';
import { anyInt64 } from './integers.ts';
import { type Mutation, refused } from './mutation.ts';
import { anyMembers, type Members, requestOf } from './request-of.ts';

const notStrings = ['1', '-2.5', 'true', 'null', '[]', '{}', '""', '" "', '"\\u0000"', '"\\ud800"'];
const tooLong = (chance: Chance) => JSON.stringify('é'.repeat(chance.int(256, 600)));
const notIntegers = ['"1"', 'true', 'null', '[]', '1.5', '1e-1', '9223372036854775808', '-1e400'];
const otherStatuses = ['"Available"', '"gone"', '""', 'null', '1', '["sold"]'];
const strangers = ['id', 'Name', 'pet_id', '', ' name', 'createdAt', 'constructor'];
const values = ['1', 'null', '"x"', '{}'];

/** A member in the place of the right one, or beside the others. */
function member(
  operationId: OperationId,
  name: string,
  wrong: readonly string[] | ((chance: Chance) => string),
): Mutation {
  return (chance, known) => {
    const value = typeof wrong === 'function' ? wrong(chance) : chance.pick(wrong);
    const right = (anyMembers[operationId]?.(chance) ?? []).filter(([other]) => other !== name);
    const members: Members = [...right, [name, value]];
    const request = requestOf(operationId, chance, known, { members });
    return { ...request, ...refused(400, 'invalid_body', `body:${name}`) };
  };
}

const withBody = allOperations.filter(({ body }) => body !== undefined);

export const changeMutations: Readonly<Record<string, Mutation>> = {
  'patch: name wrong': member('updatePet', 'name', notStrings),
  'patch: name too long': member('updatePet', 'name', tooLong),
  'patch: categoryId wrong': member('updatePet', 'categoryId', notIntegers),
  'patch: status wrong': member('updatePet', 'status', otherStatuses),
  'category: name wrong': member('putCategory', 'name', notStrings),
  'category: name too long': member('putCategory', 'name', tooLong),
  'order: petId wrong': member('placeOrder', 'petId', notIntegers),
  'order: no such animal': member('placeOrder', 'petId', (chance) => String(anyInt64(chance) | (1n << 62n))),
  'order: reference wrong': member('placeOrder', 'reference', notStrings),
  'order: reference too long': member('placeOrder', 'reference', tooLong),
  'member unknown, any body': (chance, known) =>
    member(chance.pick(withBody).operationId, chance.pick(strangers), values)(chance, known),
  'body no object, any body': (chance, known) => ({
    ...requestOf(chance.pick(withBody).operationId, chance, known, { members: [] }),
    body: Buffer.from(chance.pick(['[]', '1', '"name"', 'true', 'null', '[{}]'])),
    ...refused(400, 'invalid_body'),
  }),
  'body no JSON, any body': (chance, known) => ({
    ...requestOf(chance.pick(withBody).operationId, chance, known, { members: [] }),
    body: Buffer.from(chance.pick(['{', '{]', "{'a':1}", '{}}', 'NaN', '\ufeff{}', '{"name":"\t"}'])),
    ...refused(400, 'invalid_json'),
  }),
  'media type wrong, any body': (chance, known) => {
    const request = requestOf(chance.pick(withBody).operationId, chance, known, { members: [] });
    const headers = request.headers.filter(([name]) => name !== 'Content-Type');
    const type = chance.pick(['text/plain', 'application/xml', 'application/json-patch+json', 'json', '*/*']);
    return {
      ...request,
      headers: [...headers, ['Content-Type', type] as const],
      ...refused(415, 'unsupported_media_type'),
    };
  },
};

const absent: Readonly<Partial<Record<OperationId, string>>> = {
  updatePet: 'pet_not_found',
  deletePet: 'pet_not_found',
  getCategory: 'category_not_found',
  deleteCategory: 'category_not_found',
  getOrder: 'order_not_found',
  approveOrder: 'order_not_found',
  deliverOrder: 'order_not_found',
  cancelOrder: 'order_not_found',
  returnOrder: 'order_not_found',
};

export const absentMutations: Readonly<Record<string, Mutation>> = {
  'not there': (chance, known) => {
    const [operationId, code] = chance.pick(Object.entries(absent)) as [OperationId, string];
    const id = anyInt64(chance) | (1n << 62n);
    const params = { petId: id, categoryId: id, orderId: id };
    const headers = chance.often(0.5) && operationId !== 'getCategory' && operationId !== 'getOrder';
    const condition = headers ? { headers: [['If-Match', '"a"'] as const] } : {};
    return { ...requestOf(operationId, chance, known, { params, ...condition }), ...refused(404, code) };
  },
  'category changed meanwhile': (chance, known) => ({
    ...requestOf('putCategory', chance, known, {
      headers: [['If-Match', chance.pick(['*', '"a"', 'W/"a"'])]],
    }),
    ...refused(412, 'precondition_failed'),
  }),
};
