/** Within a version, changes to the contract are additive. Everything in a released document remains valid. */
import { describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { breakingChanges } from './breaking-changes.ts';
import { type Document, unescaped } from './document.ts';

const folder = join(import.meta.dir, 'released');
const documentAt = (path: string): Promise<Document> => Bun.file(path).json();

const current = await documentAt(join(import.meta.dir, '../../contract/openapi.json'));

test.each(readdirSync(folder))('is compatible with %s', async (name) => {
  expect(breakingChanges(await documentAt(join(folder, name)), current)).toEqual([]);
});

/** Breaking changes: the expected message, the location and the new value (undefined: removed). */
const breaks: readonly (readonly [sentence: string, pointer: string, value?: unknown])[] = [
  ['DELETE /pets/{petId} is gone', '/paths/~1pets~1{petId}/delete'],
  ['GET /inventory is gone', '/paths/~1inventory'],
  ['GET /pets is not stable any more', '/paths/~1pets/get/x-stability', 'beta'],
  ['GET /pets has another operationId', '/paths/~1pets/get/operationId', 'list'],
  ['GET /pets takes no query parameter limit any more', '/paths/~1pets/get/parameters/0'],
  ['GET /pets demands query parameter status', '/paths/~1pets/get/parameters/1/required', true],
  [
    'GET /pets query parameter limit: value has the maximum 50, not 100',
    '/paths/~1pets/get/parameters/0/schema/maximum',
    50,
  ],
  [
    'GET /pets query parameter limit: value has another default',
    '/paths/~1pets/get/parameters/0/schema/default',
    10,
  ],
  ['POST /pets body: value.status lacks the word available', '/components/schemas/PetStatus/enum/0'],
  ['POST /pets body: value demands status', '/components/schemas/NewPet/required/2', 'status'],
  ['POST /pets body: value.status is gone', '/components/schemas/NewPet/properties/status'],
  [
    'POST /pets body: value.name has the maxLength 10, not 255',
    '/components/schemas/NewPet/properties/name/maxLength',
    10,
  ],
  [
    'POST /pets takes no application/json any more',
    '/paths/~1pets/post/requestBody/content/application~1json',
  ],
  [
    'POST /orders/{orderId}/approve demands a body',
    '/paths/~1orders~1{orderId}~1approve/post/requestBody/required',
    true,
  ],
  ['GET /pets has no response 401 any more', '/paths/~1pets/get/responses/401'],
  ['POST /pets has a new success 202', '/paths/~1pets/post/responses/202', { description: '' }],
  ['POST /pets response 400: is not stable any more', '/paths/~1pets/post/responses/400/x-stability', 'beta'],
  ['GET /pets response 200: has no header Link any more', '/paths/~1pets/get/responses/200/headers/Link'],
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
    'GET /pets response 200: value.items.status has the new word lost',
    '/components/schemas/PetStatus/enum/3',
    'lost',
  ],
  ['GET /inventory response 200: value may lack sold', '/components/schemas/Inventory/required/2'],
  ['GET /inventory response 200: value.sold is gone', '/components/schemas/Inventory/properties/sold'],
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

describe('a breaking change is reported:', () => {
  for (const [sentence, pointer, value] of breaks) {
    test(sentence, () => {
      expect(breakingChanges(current, changedAt(current, pointer, value))).toContain(sentence);
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
