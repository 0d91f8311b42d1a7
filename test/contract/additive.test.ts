/** Within a version, changes to the contract are additive: everything in a released document stays valid. */
import { describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { breakingChanges } from './breaking-changes.ts';
import { type Document, unescaped } from './document.ts';

const folder = join(import.meta.dir, 'released');
const documentAt = (path: string): Promise<Document> => Bun.file(path).json();

const current = await documentAt(join(import.meta.dir, '../../contract/openapi.json'));

test.each(readdirSync(folder))('the contract is compatible with %s', async (name) => {
  expect(breakingChanges(await documentAt(join(folder, name)), current)).toEqual([]);
});

/** For each breaking change: the expected message, the JSON Pointer, and the new value (undefined for a removal). */
const breaks: readonly (readonly [sentence: string, pointer: string, value?: unknown])[] = [
  ['DELETE /pets/{petId} was removed', '/paths/~1pets~1{petId}/delete'],
  ['GET /inventory was removed', '/paths/~1inventory'],
  ['GET /pets is no longer stable', '/paths/~1pets/get/x-stability', 'beta'],
  ['GET /pets has a different operationId', '/paths/~1pets/get/operationId', 'list'],
  ['GET /pets no longer accepts query parameter limit', '/paths/~1pets/get/parameters/0'],
  ['GET /pets requires query parameter status', '/paths/~1pets/get/parameters/1/required', true],
  [
    'GET /pets query parameter limit: value has the maximum 50, not 100',
    '/paths/~1pets/get/parameters/0/schema/maximum',
    50,
  ],
  [
    'GET /pets query parameter limit: value has a different default',
    '/paths/~1pets/get/parameters/0/schema/default',
    10,
  ],
  ['POST /pets body: value.status lacks the value available', '/components/schemas/PetStatus/enum/0'],
  ['POST /pets body: value requires status', '/components/schemas/NewPet/required/2', 'status'],
  ['POST /pets body: value.status was removed', '/components/schemas/NewPet/properties/status'],
  [
    'POST /pets body: value.name has the maxLength 10, not 255',
    '/components/schemas/NewPet/properties/name/maxLength',
    10,
  ],
  [
    'POST /pets no longer accepts application/json',
    '/paths/~1pets/post/requestBody/content/application~1json',
  ],
  [
    'POST /orders/{orderId}/approve requires a body',
    '/paths/~1orders~1{orderId}~1approve/post/requestBody/required',
    true,
  ],
  ['GET /pets no longer has response 401', '/paths/~1pets/get/responses/401'],
  ['POST /pets has the new success status 202', '/paths/~1pets/post/responses/202', { description: '' }],
  ['POST /pets response 400: is no longer stable', '/paths/~1pets/post/responses/400/x-stability', 'beta'],
  ['GET /pets response 200: no longer has the header Link', '/paths/~1pets/get/responses/200/headers/Link'],
  [
    'GET /pets response 200: may lack the header X-RateLimit-Limit',
    '/components/headers/X-RateLimit-Limit/required',
    false,
  ],
  [
    'GET /pets response 200: value.items has the new member colour',
    '/components/schemas/Pet/properties/colour',
    {},
  ],
  [
    'GET /pets response 200: value.items.status has the new value lost',
    '/components/schemas/PetStatus/enum/3',
    'lost',
  ],
  ['GET /inventory response 200: value may lack sold', '/components/schemas/Inventory/required/2'],
  ['GET /inventory response 200: value.sold was removed', '/components/schemas/Inventory/properties/sold'],
  [
    'GET /inventory response 200: value.sold is string, not integer',
    '/components/schemas/Inventory/properties/sold/type',
    'string',
  ],
];

/** A copy of the document with the value at the JSON Pointer replaced, or removed if undefined. */
function changedAt(document: Document, pointer: string, value: unknown): Document {
  const copy = structuredClone(document);
  const keys = pointer.slice(1).split('/').map(unescaped);
  const last = keys.pop() ?? '';
  const parent = keys.reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], copy);
  if (value === undefined && Array.isArray(parent)) parent.splice(Number(last), 1);
  else if (value === undefined) delete (parent as Record<string, unknown>)[last];
  else if (Array.isArray(parent)) parent.splice(Number(last), 0, value);
  else (parent as Record<string, unknown>)[last] = value;
  return copy;
}

describe('a breaking change is reported', () => {
  const isChanged = ([path]: [string, unknown]) =>
    breaks.some(([sentence]) => sentence.split(' ')[1] === path);
  const part = { ...current, paths: Object.fromEntries(Object.entries(current.paths).filter(isChanged)) };

  for (const [sentence, pointer, value] of breaks) {
    test(sentence, () => {
      expect(breakingChanges(part, changedAt(part, pointer, value))).toContain(sentence);
    });
  }
});

test('an addition is not a breaking change', () => {
  const additions: readonly (readonly [pointer: string, value: unknown])[] = [
    ['/paths/~1parrots', { get: { operationId: 'listParrots', 'x-stability': 'beta', responses: {} } }],
    ['/paths/~1pets/get/parameters/99', { in: 'query', name: 'colour', schema: { type: 'string' } }],
    ['/paths/~1pets/get/responses/418', { description: 'A teapot.' }],
    ['/components/schemas/Inventory/properties/lost', { type: 'integer' }],
    ['/components/schemas/NewOrder/properties/note', { type: 'string' }],
    ['/components/schemas/Error/properties/code/enum/99', 'pet_escaped'],
  ];
  for (const [pointer, value] of additions) {
    expect([pointer, breakingChanges(current, changedAt(current, pointer, value))]).toEqual([pointer, []]);
  }
});
