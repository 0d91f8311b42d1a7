import * as z from 'zod';
import { petStatuses } from '../domain/pet-status.ts';
import { parseInt64 } from './json.ts';
import { defineOperations, mediaTypes, noContent, ok, okJsonPage, success } from './operation.ts';
import { type Pet as PetRow, petJson, repeatableResponses } from './representations.ts';
import {
  assignedId,
  bodySchema,
  count,
  cursorParameter,
  enumSchema,
  int64,
  int64Filter,
  int64Hint,
  limitParameter,
  listHint,
  objectSchema,
  omittedExample,
  pageSchema,
  text,
} from './values.ts';

const maxIds = 100;

export const PetStatus = enumSchema(petStatuses).meta({
  id: 'PetStatus',
  description: 'Availability of the animal.',
});

const name = text("The animal's name.", 'Ozzy');

const categoryId = int64(`ID of the category that the animal belongs to. ${int64Hint}`, 1);

const newStatus = PetStatus.default('available').describe(
  'Availability of the animal. Defaults to `available`.',
);

export const NewPet = bodySchema('NewPet', 'An animal to add.', 'a new animal', {
  name,
  categoryId,
  status: newStatus,
});

/** A merge patch (RFC 7396). Members cannot be removed, so null is not allowed. */
const PetPatch = bodySchema(
  'PetPatch',
  'Changes to an animal. Omitted fields are unchanged.',
  'a change to an animal',
  { name: name.optional(), categoryId: categoryId.optional(), status: PetStatus.optional() },
);

// The OpenAPI document allows additional members, because later v1 releases may add some.
export const Pet = objectSchema('Pet', 'An animal in the store.', {
  id: assignedId('Unique ID'),
  name,
  categoryId,
  status: PetStatus,
});

export const Pets = pageSchema(Pet, 'Pets', 'A page of animals.');

const idsForm = `must be 1 to ${maxIds} ids, separated by commas`;

const ids = z
  .string()
  .transform((list, context) => {
    const found = list.split(',', maxIds + 1).map(parseInt64);
    if (found.length <= maxIds && found.every((id) => id !== undefined)) return [...new Set(found)];
    context.addIssue({ code: 'custom', message: idsForm });
    return z.NEVER;
  })
  .optional()
  .meta({
    description: `Return only animals with these ids (1 to ${maxIds}, separated by commas). ${listHint}`,
    override: { type: 'array', items: { type: 'integer', format: 'int64' }, minItems: 1, maxItems: maxIds },
    param: { 'x-stability': 'beta', style: 'form', explode: false, examples: omittedExample([7]) },
  });

const ListPetsQuery = z.strictObject({
  limit: limitParameter('animals'),
  status: PetStatus.optional().meta({
    description: 'Return only animals with this status.',
    param: { examples: omittedExample('available') },
  }),
  categoryId: int64Filter('Return only animals in this category.'),
  id: ids,
  minId: int64Filter('Return only animals whose id is greater than or equal to this value.'),
  maxId: int64Filter('Return only animals whose id is less than or equal to this value.'),
  cursor: cursorParameter,
});

const PetId = int64('ID of the animal.', 1);

export type PetStatus = z.infer<typeof PetStatus>;
export type NewPet = z.infer<typeof NewPet>;

export const Inventory = objectSchema('Inventory', 'The number of animals in each status.', {
  available: count,
  pending: count,
  sold: count,
});

const GetInventoryQuery = z.strictObject({
  categoryId: int64Filter('Count only animals in this category.'),
});

export type Inventory = z.infer<typeof Inventory>;

function inventoryJson({ available, pending, sold }: Inventory): string {
  return `{"available":${available},"pending":${pending},"sold":${sold}}`;
}

export function totalAnimals({ available, pending, sold }: Inventory): number {
  return available + pending + sold;
}

const getPetSunset = new Date('2030-12-05T00:00:00Z');
const dateForm = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

const params = { petId: { schema: PetId, otherwise: 'pet_not_found' } } as const;

export const petTag = { name: 'Pets', description: 'Animals in the store.' } as const;

export const petOperations = defineOperations(
  { tag: petTag },
  {
    listPets: {
      route: 'GET /pets',
      summary: 'List animals',
      description:
        'Returns a page of animals in ascending order of id. The `Link` header (RFC 8288) has the URLs of the first and the next ' +
        'page; the last page has no `rel="next"`. Following the links returns each animal exactly once. To read one ' +
        'animal, use `?id=7`.',
      stability: 'stable',
      query: ListPetsQuery,
      scope: 'pets:read',
      reads: ['pets'],
      paginated: true,
      success: okJsonPage<PetRow>(Pets, 'A page of animals.'),
    },
    createPet: {
      route: 'POST /pets',
      summary: 'Add an animal',
      description:
        'The animal is stored durably before the response is sent. `status` defaults to `available`.',
      stability: 'stable',
      body: { schema: NewPet },
      scope: 'pets:create',
      success: success(repeatableResponses.createPet, Pet, {
        201: 'The animal was added. The body contains its `id`.',
      }),
    },
    getPet: {
      route: 'GET /pets/{petId}',
      summary: 'Get an animal',
      description:
        'Deprecated: use `GET /pets` with the `status` filter, or `GET /pets?id=7` for one animal. This operation ' +
        `returns 410 from ${dateForm.format(getPetSunset)}.`,
      stability: 'stable',
      params,
      scope: 'pets:read',
      reads: ['pets'],
      success: ok(Pet, petJson, 'The requested animal.'),
      deprecation: {
        announcedAt: new Date('2026-11-21T00:00:00Z'),
        sunset: getPetSunset,
        successor: '/pets',
      },
    },
    updatePet: {
      route: 'PATCH /pets/{petId}',
      summary: 'Change an animal',
      description:
        'Applies a JSON merge patch (RFC 7396) and returns the animal. An empty ' +
        'object changes nothing. The status can change from `available` to `pending` or `sold`, from `pending` to ' +
        '`available` or `sold`, and from `sold` to `available`, but not while an open order reserves the animal.',
      params,
      body: { schema: PetPatch, types: [mediaTypes.mergePatch, mediaTypes.json] },
      scope: 'pets:write',
      readScope: 'pets:read',
      preconditions: ['If-Match'],
      success: ok(Pet, petJson, 'The animal after the change.'),
      errors: ['status_transition_not_allowed', 'pet_reserved'],
    },
    deletePet: {
      route: 'DELETE /pets/{petId}',
      summary: 'Delete an animal',
      description: 'Deletes the animal, unless an open order reserves it. Its id is never reused.',
      params,
      scope: 'pets:write',
      preconditions: ['If-Match'],
      success: noContent('The animal was deleted.'),
      errors: ['pet_reserved'],
    },
    getInventory: {
      route: 'GET /inventory',
      summary: 'Count animals by status',
      description:
        'Returns the exact number of animals in each status, in the whole store or in one category.',
      query: GetInventoryQuery,
      scope: 'pets:read',
      reads: ['pets'],
      success: ok(Inventory, inventoryJson, 'The number of animals in each status.'),
    },
  },
);
